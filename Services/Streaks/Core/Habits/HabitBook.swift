internal import Database
package import Kernel
package import Outbox
package import StreaksDomain

/// A change of one user's habits, inside one transaction (`HabitStore.open`): the one way they are written.
///
/// Every method checks what the user may do and keeps tombstones and numbers for devices (HA-7). One that throws has changed nothing: of
/// several changes in one transaction, one may fail alone.
package struct HabitBook: Sendable {
    let store: HabitStore
    package let work: UnitOfWork
    /// With the number of this change.
    package let account: HabitAccount
    package let date: HabitDate
    package let isPremium: Bool
    /// For the event of the change.
    let news: HabitNews

    package var user: UserID { account.user }
    package var limits: HabitLimits { .of(isPremium: isPremium) }
    package var stamp: HabitStamp { HabitStamp(user: user, sequence: account.sequence, now: work.now) }
    var writer: StreakWriter { store.writer }

    /// A habit that is locked until the end of the transaction.
    package struct Locked: Sendable {
        package let record: HabitRecord
        package let stored: StoredStreak
        package var id: HabitID { record.id }

        /// The same after a change of its details alone (`update`), for further changes in the same transaction.
        package func with(_ details: HabitDetails) -> Locked {
            var record = record
            record.details = details
            return Locked(record: record, stored: stored)
        }
    }

    /// A habit that is to begin.
    package struct NewHabit: Sendable {
        package var id: HabitID?
        package var details: HabitDetails
        /// The first date of `Schedule.everyNthDate` is set by the creation.
        package var schedule: Schedule
        package var target: Amount?
        /// Of a restored habit: its versions, skips, times in the archive and reported milestones, instead of `schedule` and `target`.
        package var entries: HabitEntries?
        /// Of a restored habit: its pauses, those that are over too.
        package var pauses: [StreakLedger.Pause] = []
        /// Of a restored habit: when it began.
        package var createdAt: Instant?

        package init(_ details: HabitDetails, schedule: Schedule, target: Amount? = nil, id: HabitID? = nil) {
            (self.details, self.schedule, self.target, self.id) = (details, schedule, target, id)
        }
    }

    /// What identifies the streak of a habit among those of all.
    static func key(_ id: HabitID, of user: UserID) -> String { "\(user) \(id)" }

    // MARK: finding

    /// Locks habits of the user, in the order of their streaks, so that no two transactions wait for each other in a ring: name all that the
    /// change is about at once.
    ///
    /// - Parameter includesDeleted: whether deleted ones are found too.
    /// - Returns: those that exist.
    package func lock(_ ids: some Collection<HabitID>, includesDeleted: Bool = false) async throws -> [HabitID: Locked] {
        guard !ids.isEmpty else { return [:] }
        let wanted = Array(Set(ids))
        let visible: Query = includesDeleted ? "h.id = ANY(\(wanted))" : "h.id = ANY(\(wanted)) AND h.deleted_at IS NULL"
        // The account is locked: no other change comes between. Only a clock makes rows stale, and these are made again before they are shown.
        var records = try await HabitRepository.records(of: user, where: visible, work.sql)
        var stored = try await writer.store.lock(records.map(\.streak), work.sql)
        let stale = Set(records.filter { $0.asOf == HabitDays.stale }.map(\.streak))
        if !stale.isEmpty {
            try await store.bringUpToDate(stored.filter { stale.contains($0.row.id) }, work)
            stored = try await writer.store.lock(records.map(\.streak), work.sql)
            records = try await HabitRepository.records(of: user, where: visible, work.sql)
        }
        let byStreak = Dictionary(stored.map { ($0.row.id, $0) }) { first, _ in first }
        var locked: [HabitID: Locked] = [:]
        for record in records {
            if let stored = byStreak[record.streak] { locked[record.id] = Locked(record: record, stored: stored) }
        }
        return locked
    }

    /// - Throws: `HABIT_NOT_FOUND`.
    package func lock(_ id: HabitID, includesDeleted: Bool = false) async throws -> Locked {
        guard let habit = try await lock([id], includesDeleted: includesDeleted)[id] else { throw ServiceError.habitNotFound }
        return habit
    }

    /// Brings all habits of the user to the date that their clock shows, as `HabitStore.refresh` does: for who reads more of them in this change
    /// than those that are locked.
    package func refresh() async throws {
        let outdated = try await HabitRepository.outdated(of: user, today: date.today, work.sql)
        guard !outdated.isEmpty else { return }
        try await store.bringUpToDate(try await writer.store.lock(outdated, work.sql), work)
    }

    // MARK: habits

    /// Begins a habit, at the end of the list.
    ///
    /// - Parameter exceeding: what happens above the plan's limit: nil: it is refused; else it arrives in the archive (HA-13).
    /// - Returns: its id.
    /// - Throws: `HABIT_ID_TAKEN`, `PREMIUM_REQUIRED`, `HABIT_NAME_TAKEN`, `VALIDATION_ERROR`; where nothing else is wrong
    ///   `TOO_MANY_HABITS`, `QUOTA_EXCEEDED`, `HABIT_LIMIT_REACHED`.
    @discardableResult
    package func create(_ new: NewHabit, archivesExcess: Bool = false) async throws -> HabitID {
        let id = new.id ?? work.ids.make()
        try new.schedule.validate(field: "schedule")
        // What is wrong however many there are comes first: a repeat of a creation is answered that it is there.
        guard try await !HabitRepository.exists(id, of: user, work.sql) else {
            throw ServiceError(.alreadyExists, "HABIT_ID_TAKEN", "You have a habit of this id already.")
        }
        if new.details.isPremium, !isPremium, !archivesExcess { throw ServiceError.premiumHabits("A color or icon of your own") }
        try await check(new.details, except: nil)
        let counts = try await HabitRepository.counts(of: user, work.sql)
        guard counts.all < HabitLimits.mostHabits else { throw ServiceError.tooManyHabits }
        guard counts.stored < HabitLimits.mostStored else { throw ServiceError.tooManyDeletedHabits }
        let isAbove = counts.active >= limits.activeHabits
        if isAbove, !archivesExcess { throw ServiceError.habitLimitReached(limits.activeHabits) }
        var entries =
            new.entries
            ?? HabitEntries(
                .init(
                    from: date.today,
                    schedule: new.schedule.starting(on: date.today),
                    target: new.target,
                    weekStart: account.settings.firstDayOfWeek
                )
            )
        if isAbove { entries.archive(from: date.today) }
        var streak = StreakWriter.NewStreak(.habit, of: [user], key: Self.key(id, of: user))
        streak.habit = entries
        streak.pauses = new.pauses
        streak.startedAt = new.createdAt
        streak.origin = HabitOrigin(user: user, sequence: account.sequence)
        var stamp = stamp
        stamp.createdAt = min(new.createdAt ?? work.now, work.now)
        try await writer.start(streak, work) { [date, work] streak in
            try await HabitRepository.insert(id, new.details, streak: streak, asOf: date.today, stamp, work.sql)
        }
        if let archiving = entries.archivings.last, archiving.until == nil {
            // One that comes from a backup went to the archive on a date of before: its statistics end there.
            let start = date.zones.end(of: archiving.from.advanced(by: -1))
            try HabitRepository.setArchived(id, at: archiving.from < date.today ? start : work.now, stamp, work.sql)
        }
        try HabitAccountRepository.unbury([(.habit, "\(id)")], of: user, work.sql)
        let isPaused = new.pauses.contains { $0.from <= date.today && date.today < $0.until }
        let isArchived = entries.archivings.last.map { $0.until == nil } ?? false
        news.add(.habit(id), isArchived ? "archived" : isPaused ? "paused" : "active", count: 0)
        return id
    }

    /// Other details, another schedule or target; those hold from today, from tomorrow if today is done (HA-10).
    ///
    /// - Throws: `HABIT_NAME_TAKEN`, `PREMIUM_REQUIRED`, `VALIDATION_ERROR`.
    package func update(_ habit: Locked, _ details: HabitDetails, schedule: Schedule, target: Amount?) async throws {
        let old = habit.record.details
        if details.isPremium, !isPremium, details.color != old.color || details.icon != old.icon {
            throw ServiceError.premiumHabits("A color or icon of your own")
        }
        try schedule.validate(field: "schedule")
        try await check(details, except: habit.id)
        let newest = habit.record.versions.last
        var change: PlannedChange?
        if newest.map({ !$0.schedule.isSame(as: schedule) || $0.target != target }) ?? true {
            change = try await apply(
                .changeHabit(schedule, target: target, weekStart: newest?.weekStart ?? account.settings.firstDayOfWeek),
                to: habit
            )
        }
        try await HabitRepository.update(habit.id, details, stamp, work.sql)
        announce(habit, isArchived: habit.record.isArchived, change)
    }

    private func check(_ details: HabitDetails, except id: HabitID?) async throws {
        if let category = details.category {
            guard try await HabitAccountRepository.categoryExists(category, of: user, work.sql) else {
                throw ServiceError.validation(field: "category_id", "is no category of yours")
            }
        }
        guard try await !HabitRepository.isNameTaken(details.name, of: user, except: id, work.sql) else {
            throw ServiceError.habitNameTaken
        }
    }

    /// HA-13. Nothing happens when it is in the archive.
    package func archive(_ habit: Locked) async throws {
        guard !habit.record.isArchived else { return }
        let change = try await apply(.archive, to: habit)
        try HabitRepository.setArchived(habit.id, at: work.now, stamp, work.sql)
        announce(habit, isArchived: true, change)
    }

    /// Nothing happens when it is not in the archive.
    ///
    /// - Throws: `HABIT_LIMIT_REACHED`: it counts against the limit again (HA-13); `QUOTA_EXCEEDED`.
    package func unarchive(_ habit: Locked) async throws {
        guard habit.record.isArchived else { return }
        try await checkLimit()
        let change = try await apply(.unarchive, to: habit)
        try HabitRepository.setArchived(habit.id, at: nil, stamp, work.sql)
        announce(habit, isArchived: false, change)
    }

    private func checkLimit() async throws {
        guard try await HabitRepository.counts(of: user, work.sql).active < limits.activeHabits else {
            throw ServiceError.habitLimitReached(limits.activeHabits)
        }
    }

    /// Deletes it; it can come back for 30 days. Until then nothing is expected of it. Nothing happens when it is deleted.
    package func delete(_ habit: Locked) async throws {
        guard !habit.record.isDeleted else { return }
        if !habit.record.isArchived { try await apply(.archive, to: habit) }
        try await HabitRepository.setDeleted(habit.id, at: work.now, stamp, work.sql)
        try HabitAccountRepository.bury([(.habit, "\(habit.id)")], stamp, work.sql)
        news.add(.habit(habit.id), "deleted")
    }

    /// It comes back with its completions and skips, into the archive if it was there. Lock it with `includesDeleted`.
    ///
    /// - Parameters:
    ///   - name: what it is called from now on; nil: as before.
    ///   - archivesExcess: above the plan's limit it comes back into the archive instead of being refused (HA-13).
    /// - Throws: `HABIT_NOT_DELETED`, `HABIT_LIMIT_REACHED`, `TOO_MANY_HABITS`, `HABIT_NAME_TAKEN`.
    package func undelete(_ habit: Locked, name: String? = nil, archivesExcess: Bool = false) async throws {
        guard habit.record.isDeleted else {
            throw ServiceError(.failedPrecondition, "HABIT_NOT_DELETED", "This habit is not deleted.")
        }
        var details = habit.record.details
        if let name { details.name = name }
        guard try await !HabitRepository.isNameTaken(details.name, of: user, except: habit.id, work.sql) else {
            throw ServiceError.habitNameTaken
        }
        let counts = try await HabitRepository.counts(of: user, work.sql)
        guard counts.all < HabitLimits.mostHabits else { throw ServiceError.tooManyHabits }
        var change: PlannedChange?
        var isArchived = habit.record.isArchived
        if !isArchived {
            if counts.active < limits.activeHabits {
                change = try await apply(.unarchive, to: habit)
            } else {
                guard archivesExcess else { throw ServiceError.habitLimitReached(limits.activeHabits) }
                isArchived = true
                try HabitRepository.setArchived(habit.id, at: work.now, stamp, work.sql)
            }
        }
        if name != nil { try await HabitRepository.update(habit.id, details, stamp, work.sql) }
        try await HabitRepository.setDeleted(habit.id, at: nil, stamp, work.sql)
        // Devices have deleted what it had.
        try HabitRepository.renumber(habit.record.streak, stamp, work.sql)
        try HabitAccountRepository.unbury([(.habit, "\(habit.id)")], of: user, work.sql)
        announce(habit, isArchived: isArchived, change)
    }

    /// HA-13. - Throws: `ALREADY_PAUSED`, `PAUSE_TOO_LONG`, `QUOTA_EXCEEDED`, `VALIDATION_ERROR`.
    package func pause(_ habit: Locked, from: CalendarDate, until: CalendarDate) async throws {
        let change = try await apply(.pauseHabit(from: from, until: until), to: habit)
        try HabitRepository.touch(habit.id, stamp, work.sql)
        announce(habit, isArchived: habit.record.isArchived, change)
    }

    /// - Throws: `NOT_PAUSED`.
    package func resume(_ habit: Locked) async throws {
        let change = try await apply(.resumeHabit, to: habit)
        try HabitRepository.touch(habit.id, stamp, work.sql)
        announce(habit, isArchived: habit.record.isArchived, change)
    }

    /// The order of the list: those that are named come first, in this order.
    package func reorder(_ ids: [HabitID]) async throws {
        try await HabitRepository.reorder(ids, stamp, work.sql)
        news.add(.habitOrder)
    }

    @discardableResult
    private func apply(_ command: StreakCommand, to habit: Locked) async throws -> PlannedChange {
        try await writer.apply(
            command,
            to: habit.stored,
            origin: HabitOrigin(user: user, sequence: account.sequence),
            work
        )
    }

    // MARK: the rest

    /// Another number, order or text of categories.
    package var categories: HabitCategories { HabitCategories(book: self) }

    /// Stores settings. Another first day of the week makes versions of all weekly habits (HA-10), those in the archive too, and deleted ones,
    /// which may come back.
    ///
    /// - Throws: `VALIDATION_ERROR`.
    package func store(_ settings: HabitSettings) async throws {
        var settings = settings
        try settings.validate()
        if settings.firstDayOfWeek != account.settings.firstDayOfWeek {
            let ids = try await HabitRepository.ids(of: user, work.sql)
            for habit in try await lock(ids, includesDeleted: true).values.sorted(by: { $0.id < $1.id }) {
                guard let newest = habit.record.versions.last, newest.weekStart != settings.firstDayOfWeek else { continue }
                let change = try await apply(
                    .changeHabit(newest.schedule, target: newest.target, weekStart: settings.firstDayOfWeek),
                    to: habit
                )
                try HabitRepository.touch(habit.id, stamp, work.sql)
                if !habit.record.isDeleted { announce(habit, isArchived: habit.record.isArchived, change) }
            }
        }
        try HabitAccountRepository.store(settings, stamp, work.sql)
        news.add(.settings)
    }

    /// The same after `store`, for further changes in the same transaction.
    package func with(_ settings: HabitSettings) -> HabitBook {
        var account = account
        account.settings = settings
        return HabitBook(store: store, work: work, account: account, date: date, isPremium: isPremium, news: news)
    }

    /// A note on a date, from the first that files may have to today; an empty one deletes it.
    ///
    /// - Throws: `DATE_IN_FUTURE`, `VALIDATION_ERROR`.
    package func note(_ text: String, on day: CalendarDate) throws { try note([day: try checkedNote(text, on: day)]) }

    /// - Returns: the text as it is stored.
    /// - Throws: `DATE_IN_FUTURE`, `VALIDATION_ERROR`.
    package func checkedNote(_ text: String, on day: CalendarDate) throws -> String {
        guard day <= date.today else {
            throw ServiceError(.invalidArgument, "DATE_IN_FUTURE", "This date has not begun.")
        }
        var check = FieldCheck()
        Self.checkNoted(day, &check)
        try check.finish()
        return try HabitText.text(text, field: "note", most: 500)
    }

    /// Without a first date one user could have a note on each date of two thousand years.
    package static func checkNoted(_ day: CalendarDate, _ check: inout FieldCheck) {
        check.require(day >= HabitFileContext.earliest, "date", "must be \(HabitFileContext.earliest) or later")
    }

    /// The same for several dates.
    ///
    /// - Parameter notes: as `checkedNote` gave them.
    package func note(_ notes: [CalendarDate: String]) throws {
        try HabitAccountRepository.store(notes, stamp, work.sql)
        // Also where none was: changes of an older one are late, whenever they come.
        let gone = notes.filter(\.value.isEmpty).keys.sorted()
        try HabitAccountRepository.bury(gone.map { (.dayNote, "\($0)") }, stamp, work.sql)
        try HabitAccountRepository.unbury(
            notes.filter { !$0.value.isEmpty }.keys.sorted().map { (.dayNote, "\($0)") },
            of: user,
            work.sql
        )
        for (date, note) in notes.sorted(by: { $0.key < $1.key }) {
            news.add(.dayNote(date), note.isEmpty ? "deleted" : "changed")
        }
    }

    /// A backup was made now.
    package func noteBackup() throws { try HabitAccountRepository.setBackedUp(stamp, work.sql) }

    /// Deletes all habits, categories and day notes for good and begins a new epoch: devices begin anew (HA-7). The categories of the
    /// start are made again unless others follow.
    ///
    /// - Parameter keepsPhotos: whether photos stay until `dropStrayPhotos`, for dates that get a completion again.
    /// - Returns: the new epoch.
    package func clear(keepsDefaults: Bool = true, keepsPhotos: Bool = false) async throws -> Int {
        news.addAll()
        try await HabitRepository.clear(of: user, work.sql)
        if !keepsPhotos { try await dropStrayPhotos() }
        if keepsDefaults {
            for details in HabitCategoryDetails.defaults { try await categories.add(details, isCustom: false) }
        }
        return try await HabitAccountRepository.raiseEpoch(stamp, work.sql)
    }
}

extension Schedule {
    /// The same schedule as it begins on a date: every n-th date counts from there.
    package func starting(on date: CalendarDate) -> Schedule {
        if case .everyNthDate(let step, _) = self { .everyNthDate(step, from: date) } else { self }
    }

    /// Whether it says the same, from wherever every n-th date is counted.
    package func isSame(as other: Schedule) -> Bool {
        if case (.everyNthDate(let step, _), .everyNthDate(let wanted, _)) = (self, other) { return step == wanted }
        return self == other
    }
}
