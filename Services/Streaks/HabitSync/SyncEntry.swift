internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Something that a device keeps a copy of, or is to delete.
enum SyncEntry: Sendable {
    case settings(HabitAccount)
    case category(HabitCategoryRecord)
    case habit(HabitRecord)
    case completion(CompletionRecord, of: HabitID)
    case skip(HabitID, streak: StreakID, CalendarDate, sequence: Int64)
    case dayNote(CalendarDate, String, sequence: Int64)
    case deletion(HabitEntity, String, sequence: Int64)

    /// Where it comes: by its number, then by its table.
    struct Place: Hashable, Comparable {
        let sequence: Int64
        let table: SyncPosition.Table

        static func < (left: Self, right: Self) -> Bool {
            (left.sequence, left.table.rawValue) < (right.sequence, right.table.rawValue)
        }
    }

    var place: Place {
        switch self {
        case .settings(let account): Place(sequence: account.settingsSequence, table: .settings)
        case .category(let record): Place(sequence: record.sequence, table: .category)
        case .habit(let record): Place(sequence: record.sequence, table: .habit)
        case .completion(let record, _): Place(sequence: record.sequence, table: .completion)
        case .skip(_, _, _, let sequence): Place(sequence: sequence, table: .skip)
        case .dayNote(_, _, let sequence): Place(sequence: sequence, table: .dayNote)
        case .deletion(_, _, let sequence): Place(sequence: sequence, table: .deletion)
        }
    }

    /// Its key in its table, as `SyncPosition` has it.
    var key: String {
        switch self {
        case .settings: ""
        case .category(let record): "\(record.id)"
        case .habit(let record): "\(record.id)"
        case .completion(let record, _): "\(record.id)"
        case .skip(_, let streak, let date, _): "\(streak) \(date)"
        case .dayNote(let date, _, _): "\(date)"
        case .deletion(let entity, let key, _): "\(entity.rawValue) \(key)"
        }
    }

    /// Bytes that it takes, about.
    var size: Int {
        switch self {
        case .settings, .category, .skip, .deletion: 200
        case .habit(let record):
            400 + record.details.name.utf8.count + record.details.description.utf8.count
                + (record.versions.count + record.pauses.count) * 80
        case .completion(let record, _): 200 + record.details.note.utf8.count
        case .dayNote(_, let note, _): 50 + note.utf8.count
        }
    }
}

extension SyncReply {
    mutating func add(_ entry: SyncEntry) {
        switch entry {
        case .settings(let account): settings = SyncSettings(account)
        case .category(let record): categories.append(SyncCategory(record))
        case .habit(let record): habits.append(SyncHabit(record))
        case .completion(let record, let habit): completions.append(SyncCompletion(record, of: habit))
        case .skip(let habit, _, let date, let sequence):
            skips.append(SyncSkip(habitID: habit, date: date, sequence: sequence))
        case .dayNote(let date, let note, let sequence):
            dayNotes.append(SyncDayNote(date: date, note: note, sequence: sequence))
        case .deletion(let entity, let key, let sequence): deleted.append(SyncDeletion(entity, key, sequence))
        }
    }
}

extension SyncSettings {
    fileprivate init(_ account: HabitAccount) {
        let settings = account.settings
        self.init(
            firstDayOfWeek: Int32(settings.firstDayOfWeek),
            theme: settings.theme.rawValue,
            accentColor: settings.accentColor,
            haptics: settings.haptics,
            animations: settings.animations,
            onboarded: settings.onboarded,
            dailyReminderTime: settings.reminderMinute.map(HabitReminderTime.text),
            sequence: account.settingsSequence
        )
    }
}

extension SyncCategory {
    fileprivate init(_ record: HabitCategoryRecord) {
        self.init(
            id: record.id,
            name: record.details.name,
            color: record.details.color,
            icon: record.details.icon,
            position: Int32(clamping: record.position),
            isCustom: record.isCustom,
            sequence: record.sequence
        )
    }
}

extension SyncHabit {
    fileprivate init(_ record: HabitRecord) {
        let details = record.details
        self.init(
            id: record.id,
            name: details.name,
            description: details.description,
            color: details.color,
            icon: details.icon,
            categoryID: details.category,
            unit: details.unit,
            reminderTime: details.reminder.map { HabitReminderTime.text($0.minute) },
            reminderDays: details.reminder?.days?.sorted().map { Int32($0) } ?? [],
            position: Int32(clamping: record.position),
            archived: record.isArchived,
            archivedAt: record.archivedAt,
            createdAt: record.createdAt,
            updatedAt: record.updatedAt,
            versions: record.versions.map { version in
                SyncVersion(
                    from: version.from,
                    schedule: SyncSchedule(version.schedule),
                    targetValue: version.target?.value,
                    weekStart: Int32(version.weekStart),
                    anchor: version.schedule.anchor
                )
            },
            pauses: record.pauses.map { SyncPause(from: $0.from, until: $0.until) },
            sequence: record.sequence
        )
    }
}

extension SyncCompletion {
    fileprivate init(_ record: CompletionRecord, of habit: HabitID) {
        self.init(
            id: record.id,
            habitID: habit,
            date: record.date,
            value: record.amount?.value,
            note: record.details.note,
            mood: record.details.mood?.name,
            doneAt: record.details.doneAt,
            updatedAt: record.updatedAt,
            sequence: record.sequence,
            photoID: record.photo
        )
    }
}

extension SyncDeletion {
    fileprivate init(_ entity: HabitEntity, _ key: String, _ sequence: Int64) {
        self.init()
        self.sequence = sequence
        switch entity {
        case .habit: (self.entity, entityID) = ("habit", key)
        case .category: (self.entity, entityID) = ("category", key)
        case .completion: (self.entity, entityID) = ("completion", key)
        case .skip:
            let parts = key.split(separator: " ")
            (self.entity, habitID) = ("skip", parts.first.flatMap { HabitID($0) })
            date = parts.last.flatMap { CalendarDate($0) }
        case .dayNote: (self.entity, date) = ("day_note", CalendarDate(key))
        }
    }
}

extension SyncStreak {
    init(_ standing: PullRepository.Standing) {
        self.init(
            habitID: standing.habit,
            count: standing.count,
            longest: standing.longest,
            counts: standing.unit == .dates ? "days" : "weeks"
        )
    }
}
