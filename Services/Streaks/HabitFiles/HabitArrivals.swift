internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Takes the habits of a file into an account, or says what would come of it (HA-6, HA-13).
struct HabitArrivals: Sendable {
    /// A habit of the file, and what becomes of it.
    struct Arrival: Sendable {
        let habit: FileHabit
        /// What it is called here.
        let name: String
        /// Above the plan's limit.
        let isArchived: Bool
        var id: HabitID?
    }

    private(set) var arrivals: [Arrival] = []
    let found: HabitImport

    /// - Parameter present: the habits that stay beside those of the file.
    init(_ found: HabitImport, beside present: [HabitRecord], limit: Int) {
        self.found = found
        var taken = TakenNames(keys: Set(present.map { HabitText.key($0.details.name) }))
        var active = present.count(where: \.isActive)
        for habit in found.habits {
            let isActive = habit.archivings.last.map { $0.until != nil } ?? true
            let isAbove = isActive && active >= limit
            if isActive, !isAbove { active += 1 }
            let name = taken.take(habit.name, most: HabitFileRules.nameLength)
            arrivals.append(Arrival(habit: habit, name: name, isArchived: isAbove))
        }
    }

    /// Stores them, for who has asked whether there is room (`HabitBook.requireRoom`). Nothing is notified.
    ///
    /// - Parameter keepsIDs: whether habits and completions keep their ids: those of another account do not.
    /// - Throws: `TOO_MANY_HABITS`.
    mutating func store(in book: HabitBook, keepsIDs: Bool) async throws {
        let categories = try await storeCategories(in: book, keepsIDs: keepsIDs)
        for index in arrivals.indices {
            arrivals[index].id = try await create(arrivals[index], categories, in: book, keepsIDs: keepsIDs)
        }
        for arrival in arrivals where !arrival.habit.completions.isEmpty {
            guard let id = arrival.id else { continue }
            try await complete(try await book.lock(id), arrival.habit, in: book, keepsIDs: keepsIDs)
        }
        let notes = try found.dayNotes.map { date, note in (date, try book.checkedNote(note, on: date)) }
        try book.note(Dictionary(uniqueKeysWithValues: notes))
    }

    /// - Returns: their ids, in the order of the file.
    private func storeCategories(in book: HabitBook, keepsIDs: Bool) async throws -> [HabitCategoryID] {
        var taken = TakenNames()
        let defaults = Set(HabitCategoryDetails.defaults.map { HabitText.key($0.name) })
        var ids: [HabitCategoryID] = []
        for category in found.categories {
            let name = taken.take(category.name, most: HabitFileRules.categoryLength)
            let details = HabitCategoryDetails(
                storedName: name,
                color: category.color ?? HabitDetails.standardColor,
                icon: category.icon ?? HabitDetails.standardIcon
            )
            ids.append(
                try await book.categories.add(
                    details,
                    id: keepsIDs ? HabitCategoryID(category.id) : nil,
                    isCustom: category.isCustom ?? !defaults.contains(HabitText.key(name)),
                    ignoresLimit: true
                )
            )
        }
        return ids
    }

    private func create(_ arrival: Arrival, _ categories: [HabitCategoryID], in book: HabitBook, keepsIDs: Bool) async throws
        -> HabitID?
    {
        let habit = arrival.habit
        guard let first = habit.versions.first else { return nil }
        var new = HabitBook.NewHabit(
            HabitDetails(
                storedName: arrival.name,
                description: habit.description,
                color: habit.color ?? HabitDetails.standardColor,
                icon: habit.icon ?? HabitDetails.standardIcon,
                category: habit.category.flatMap { categories.indices.contains($0) ? categories[$0] : nil },
                unit: habit.unit,
                reminder: habit.reminder
            ),
            schedule: first.schedule,
            id: keepsIDs ? habit.id : nil
        )
        new.entries = HabitEntries(
            first,
            later: Array(habit.versions.dropFirst()),
            skips: habit.skips,
            archivings: habit.archivings
        )
        // Pauses are known by their instants.
        new.pauses = habit.pauses.enumerated().map { place, pause in
            let instant = book.work.now - Interval(microseconds: Int64(place))
            return StreakLedger.Pause(at: instant, from: pause.from, until: pause.until)
        }
        // Between the first date that a file may have and now: the streak begins then, and one of the year 1 kept the database busy.
        let earliest = Zone.utc.start(of: HabitFileContext.earliest)
        new.createdAt = habit.createdAt.map { min(max($0, earliest), book.work.now) }
        return try await book.create(new, archivesExcess: true)
    }

    private func complete(_ locked: HabitBook.Locked, _ habit: FileHabit, in book: HabitBook, keepsIDs: Bool) async throws {
        var edits: [HabitEdit] = []
        var details: [CompletionID: CompletionDetails] = [:]
        for completion in habit.completions {
            let id = keepsIDs ? completion.id ?? book.work.ids.make() : book.work.ids.make()
            edits.append(.complete(id, on: completion.date, completion.amount))
            details[id] = CompletionDetails(
                note: completion.note,
                mood: completion.mood,
                doneAt: completion.at,
                minute: completion.at.map(book.date.minute(at:))
            )
        }
        var all = HabitBook.Edits(edits, details: details, earliest: HabitFileContext.earliest)
        all.reportsMilestones = false
        all.hasRoom = true
        let outcome = try await book.edit(locked, all)
        // All of it was checked before: what is refused all the same takes everything back.
        if let refused = outcome.refused.min(by: { $0.key < $1.key }) { throw refused.value }
    }

    /// - Parameter isDry: nothing was stored.
    func summary(isDry: Bool) -> HabitFileSummary {
        let problems = found.problems
        return HabitFileSummary(
            habits: arrivals.prefix(100).map { arrival in
                HabitFileEntry(
                    name: arrival.habit.name,
                    newName: arrival.name,
                    completionCount: Int32(clamping: arrival.habit.completions.count),
                    skipCount: Int32(clamping: arrival.habit.skips.count),
                    archived: arrival.isArchived || arrival.habit.archivings.last.map { $0.until == nil } ?? false,
                    id: isDry ? nil : arrival.id
                )
            },
            habitCount: Int32(clamping: arrivals.count),
            completionCount: Int32(clamping: found.completionCount),
            skipCount: Int32(clamping: found.skipCount),
            categoryCount: Int32(clamping: found.categories.count),
            dayNoteCount: Int32(clamping: found.dayNotes.count),
            archivedCount: Int32(clamping: arrivals.count(where: \.isArchived)),
            warnings: problems.warnings.map { HabitFileIssue(place: $0.place, message: $0.message) },
            warningCount: Int32(clamping: problems.warningCount),
            errors: problems.errors.map { HabitFileIssue(place: $0.place, message: $0.message) },
            errorCount: Int32(clamping: problems.errorCount)
        )
    }
}
