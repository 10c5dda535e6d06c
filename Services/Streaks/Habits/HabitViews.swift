internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

extension HabitUnit {
    init(_ unit: Schedule.Unit) { self = unit == .weeks ? .weeks : .days }
}

extension SuccessRate {
    init(_ rate: HabitRate) {
        self.init(done: Int32(clamping: rate.done), due: Int32(clamping: rate.counted), percent: rate.percent.map(Int32.init))
    }
}

extension HabitScheduleView {
    init(_ version: HabitEntries.Version) {
        self.init(text: version.schedule.text, note: version.schedule.note, from: version.from)
        switch version.schedule {
        case .daily: type = "daily"
        case .weekdays(let days): (type, weekdays) = ("weekdays", days.sorted().map(Int32.init))
        case .everyNthDate(let step, _): (type, every) = ("every_n_days", Int32(step))
        case .timesPerWeek(let times): (type, self.times) = ("times_per_week", Int32(times))
        case .daysOfMonth(let days): (type, self.days) = ("days_of_month", days.sorted().map(Int32.init))
        }
    }
}

extension Habit {
    /// - Parameter newest: the version that was set last; it may hold from tomorrow on.
    init(_ record: HabitRecord, _ date: HabitDate) {
        let newest = record.versions.last ?? record.version(on: date.today)
        let details = record.details
        self.init(
            id: record.id,
            name: details.name,
            description: details.description,
            color: details.color,
            icon: details.icon,
            categoryID: details.category,
            schedule: HabitScheduleView(newest),
            targetValue: newest.target?.value,
            unit: details.unit,
            reminderTime: details.reminder.map { HabitReminderTime.text($0.minute) },
            reminderDays: details.reminder?.days.map { $0.sorted().map(Int32.init) } ?? [],
            order: Int32(clamping: record.position),
            archived: record.isArchived,
            archivedAt: record.archivedAt,
            createdAt: record.createdAt,
            updatedAt: record.updatedAt,
            startDate: record.startDate(date.zones),
            isPremium: details.isPremium,
            currentStreak: Int32(clamping: record.count),
            streakUnit: HabitUnit(record.unit),
            longestStreak: Int32(clamping: record.longest),
            lastCompletedDate: record.lastCompletedDate,
            pause: record.pauses.first { date.today < $0.until }.map { HabitPause(from: $0.from, until: $0.until) }
        )
    }
}

extension HabitRecord {
    /// Until when a deleted one can come back.
    var restorableUntil: Instant? { deletedAt.map { $0 + HabitPurge.restorable } }
}

extension HabitItem {
    /// - Parameter lastDays: what became of the last 7 dates; empty where they are not shown.
    init(_ record: HabitRecord, lastDays: [HabitSquare], _ date: HabitDate) {
        self.init(
            id: record.id,
            name: record.details.name,
            color: record.details.color,
            icon: record.details.icon,
            categoryID: record.details.category,
            scheduleText: (record.versions.last ?? record.version(on: date.today)).schedule.text,
            reminderTime: record.details.reminder.map { HabitReminderTime.text($0.minute) },
            currentStreak: Int32(clamping: record.count),
            streakUnit: HabitUnit(record.unit),
            lastDays: lastDays,
            paused: record.pause(on: date.today) != nil,
            archivedAt: record.archivedAt,
            deletedAt: record.deletedAt,
            restorableUntil: record.restorableUntil,
            order: Int32(clamping: record.position)
        )
    }
}

extension HabitCompletion {
    init(_ record: CompletionRecord) {
        self.init(
            id: record.id,
            date: record.date,
            value: record.amount?.value,
            note: record.details.note,
            mood: record.details.mood?.name,
            doneAt: record.details.doneAt,
            updatedAt: record.updatedAt,
            photoID: record.photo
        )
    }
}

extension HabitCategory {
    init(_ record: HabitCategoryRecord) {
        self.init(
            id: record.id,
            name: record.details.name,
            color: record.details.color,
            icon: record.details.icon,
            order: Int32(clamping: record.position),
            isCustom: record.isCustom,
            createdAt: record.createdAt,
            updatedAt: record.updatedAt
        )
    }
}

extension HabitAppSettings {
    init(_ account: HabitAccount) { self.init(account.settings, backedUpAt: account.backedUpAt) }

    init(_ settings: HabitSettings, backedUpAt: Instant?) {
        self.init(
            theme: settings.theme.rawValue,
            accentColor: settings.accentColor,
            firstDayOfWeek: Int32(settings.firstDayOfWeek),
            hapticFeedbackEnabled: settings.haptics,
            animationsEnabled: settings.animations,
            onboardingCompleted: settings.onboarded,
            dailyReminderTime: settings.reminderMinute.map(HabitReminderTime.text),
            lastBackupAt: backedUpAt
        )
    }
}

extension PlanUse {
    /// Premium has no limit that a person would meet, and none is shown.
    init(_ used: Int, of limit: Int, isPremium: Bool) {
        self.init(used: Int32(clamping: used), limit: isPremium ? nil : Int32(clamping: limit))
    }
}
