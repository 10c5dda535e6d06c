internal import ServiceRuntime
package import Kernel
package import StreaksDomain

/// Completions and skips, inside a change.
extension HabitBook {
    /// Edits of one habit, with what their completions have besides date and amount.
    package struct Edits: Sendable {
        package var edits: [HabitEdit]
        /// Of `.complete`.
        package var details: [CompletionID: CompletionDetails]
        /// The first date that takes completions and skips; nil: 7 dates before today (HA-12).
        package var earliest: CalendarDate?
        /// Whether milestones are reported; a restore reports none.
        package var reportsMilestones = true
        /// Whether one that is merged gives its details to the one that was there; else the caller does (`describe`).
        package var mergesDetails = true
        /// Whether the ids of its completions were made by the service: no completion has one of them already.
        package var hasNewIDs = false
        /// Whether there is room for its completions (`HabitBook.requireRoom`).
        package var hasRoom = false

        package init(
            _ edits: [HabitEdit],
            details: [CompletionID: CompletionDetails] = [:],
            earliest: CalendarDate? = nil
        ) {
            (self.edits, self.details, self.earliest) = (edits, details, earliest)
        }
    }

    /// Changes completions and skips of a habit, in order; what is refused changes nothing, and its place says so (`HabitOutcome.refused`).
    ///
    /// A completion whose id the user has already for another habit or date is refused with `COMPLETION_ID_TAKEN`; more than
    /// `HabitLimits.mostCompletions` on a date with `TOO_MANY_COMPLETIONS`; a row that the account has no room for with `QUOTA_EXCEEDED`.
    package func edit(_ habit: Locked, _ edits: Edits) async throws -> HabitOutcome {
        var room = HabitRoom.unlimited
        if !edits.hasRoom {
            let added = edits.edits.count { $0.newID != nil }
            room = try await self.room(adding: added, deleting: edits.edits.count(where: \.isDeletion))
        }
        guard let outcome = try await edit([(habit, edits)], &room).first else { throw ServiceError.internal }
        return outcome
    }

    /// The same with several habits, each once, by statements for all of them.
    ///
    /// - Parameter room: what the account has room for (`room(adding:deleting:of:)`), and then what is left of it.
    /// - Returns: what became of each, in their order.
    package func edit(_ all: [(habit: Locked, edits: Edits)], _ room: inout HabitRoom) async throws -> [HabitOutcome] {
        guard !all.isEmpty else { return [] }
        let given = all.filter { !$0.edits.hasNewIDs }.flatMap { $0.edits.edits.compactMap(\.newID) }
        let known = try await HabitRepository.places(of: given, of: user, work.sql)
        let checked = all.map { Checked($0.habit, $0.edits, known) }
        let changes = try await write(Array(zip(all, checked)), &room)
        let made = zip(all, changes).map { (habit: $0.habit.id, edits: $0.edits, change: $1) }
        try bury(made)
        try await dropPhotos(made)
        var outcomes: [HabitOutcome] = []
        var patches: [CompletionID: CompletionPatch] = [:]
        for ((pair, checked), change) in zip(zip(all, checked), changes) {
            let outcome = HabitOutcome(change, checked)
            outcomes.append(outcome)
            announce(pair.habit.id, dates: Set(checked.kept.map(\.date)), change)
            guard pair.edits.mergesDetails else { continue }
            for id in checked.kept.compactMap(\.newID) {
                guard let other = outcome.merged[id], let details = pair.edits.details[id] else { continue }
                patches[other, default: CompletionPatch()].add(CompletionPatch(details))
            }
        }
        try describe(patches)
        return outcomes
    }

    /// Writes edits: all at once, or where room is scarce one habit after the other, each with what the one before it has left.
    private func write(_ all: [((habit: Locked, edits: Edits), Checked)], _ room: inout HabitRoom) async throws -> [PlannedChange]
    {
        func order(_ pair: (habit: Locked, edits: Edits), _ checked: Checked, _ room: HabitRoom) -> StreakWriter.Order {
            StreakWriter.Order(
                .edit(checked.kept, earliest: pair.edits.earliest, room: room),
                pair.habit.stored,
                origin: HabitOrigin(user: user, sequence: account.sequence, details: pair.edits.details),
                reportsMilestones: pair.edits.reportsMilestones
            )
        }
        guard room.isLimited else { return try await writer.apply(all.map { order($0, $1, room) }, work) }
        var changes: [PlannedChange] = []
        for (pair, checked) in all {
            let written = try await writer.apply([order(pair, checked, room)], work)
            if let change = written.first { room = change.change.room }
            changes += written
        }
        return changes
    }

    /// The edits of a habit that its ledger judges, and those that are refused before.
    fileprivate struct Checked {
        private(set) var kept: [HabitEdit] = []
        /// Of `kept`, in the list of all.
        private(set) var places: [Int] = []
        private(set) var refused: [Int: ServiceError] = [:]

        init(_ habit: Locked, _ edits: Edits, _ known: [CompletionID: HabitRepository.Place]) {
            for (index, edit) in edits.edits.enumerated() {
                if let id = edit.newID, let place = known[id], place.streak != habit.record.streak || place.date != edit.date {
                    refused[index] = .completionIDTaken
                    continue
                }
                kept.append(edit)
                places.append(index)
            }
        }
    }

    /// What the account has room for: only completions that become rows need any. Deleted ones count apart: of each its id is kept for
    /// devices.
    ///
    /// - Parameters:
    ///   - added: completions that may become rows, at most.
    ///   - deleted: completions that may be deleted, at most.
    ///   - stored: those of the deleted that are rows already: they make room.
    package func room(adding added: Int, deleting deleted: Int, of stored: Set<CompletionID> = []) async throws -> HabitRoom {
        guard added > 0 else { return .unlimited }
        let quotas = store.quotas
        let completions = try await quotas.room(for: added, in: .completions, of: user, work.sql)
        let tombstones = try await quotas.room(for: added + deleted, in: .tombstones, of: user, work.sql)
        guard completions < added || tombstones < added + deleted else { return .unlimited }
        return HabitRoom(
            completions: HabitRoom.Part(completions, else: quotas.refusal(.completions)),
            tombstones: HabitRoom.Part(tombstones, else: quotas.refusal(.tombstones)),
            deleting: stored
        )
    }

    /// Photos of dates whose last completion was deleted.
    private func dropPhotos(_ changes: [(habit: HabitID, edits: Edits, change: PlannedChange)]) async throws {
        var dates: [(habit: HabitID, date: CalendarDate)] = []
        for (habit, edits, change) in changes where change.entries.habit?.deleted.isEmpty == false {
            for case .delete(_, let date) in edits.edits { dates.append((habit, date)) }
        }
        if !dates.isEmpty { try await dropStrayPhotos(.only(dates)) }
    }

    /// Devices are sent that these completions are deleted, also those that were made and deleted by one edit, of which the ledger knows nothing.
    package func bury(_ completions: Set<CompletionID>) throws {
        try HabitAccountRepository.bury(completions.sorted().map { (.completion, "\($0)") }, stamp, work.sql)
    }

    private func bury(_ changes: [(habit: HabitID, edits: Edits, change: PlannedChange)]) throws {
        var (gone, back): ([(entity: HabitEntity, key: String)], [(entity: HabitEntity, key: String)]) = ([], [])
        for (habit, edits, change) in changes {
            guard let entries = change.entries.habit else { continue }
            gone += entries.deleted.map { (.completion, "\($0)") } + entries.unskipped.map { (.skip, "\(habit) \($0)") }
            // An id that was made just now was never deleted.
            if !edits.hasNewIDs { back += entries.added.compactMap { entry in entry.id.map { (.completion, "\($0)") } } }
            back += entries.skipped.map { (.skip, "\(habit) \($0)") }
        }
        try HabitAccountRepository.bury(gone, stamp, work.sql)
        try HabitAccountRepository.unbury(back, of: user, work.sql)
    }

    /// Another note, mood or time of a completion, of whatever age (HA-12).
    ///
    /// - Throws: `COMPLETION_NOT_FOUND`.
    package func describe(_ id: CompletionID, _ details: CompletionDetails) async throws {
        guard try await HabitRepository.describe(id, details, stamp, work.sql) else { throw ServiceError.completionNotFound }
        news.add(.completion(id))
    }

    /// The same for parts of the details of several completions; those that do not exist are left out.
    package func describe(_ patches: [CompletionID: CompletionPatch]) throws {
        try HabitRepository.patch(patches, stamp, work.sql)
        for (id, patch) in patches.sorted(by: { $0.key < $1.key }) where !patch.isEmpty { news.add(.completion(id)) }
    }
}

/// What an edit of a habit came to.
package struct HabitOutcome: Sendable {
    package let change: PlannedChange
    /// What was refused, by its place in the list of edits.
    package let refused: [Int: ServiceError]
    /// Completions that updated one that was there, or found nothing left to add: its id, by theirs.
    package let merged: [CompletionID: CompletionID]
    package var state: StreakState { change.change.state }
    /// The counts that were reached for the first time in this run, highest last.
    package var milestones: [Int] {
        change.change.effects.compactMap { if case .milestone(let count, _, _, _) = $0 { count } else { nil } }
    }
    /// A completion that is new; nil when it was merged into another, or there is none of this id.
    package func added(_ id: CompletionID) -> StreakLedger.Contribution? {
        change.entries.habit?.added.first { $0.id == id }
    }
    /// The completions that the ledger has on a date now, in the order they came.
    package func completions(on date: CalendarDate) -> [StreakLedger.Contribution] {
        change.change.ledger.contributions[date] ?? []
    }

    fileprivate init(_ change: PlannedChange, _ checked: HabitBook.Checked) {
        self.change = change
        var refused = checked.refused
        for (place, refusal) in change.change.refused { refused[checked.places[place]] = refusal }
        self.refused = refused
        merged = Dictionary(
            change.change.merged.compactMap { place, other in checked.kept[place].newID.map { ($0, other) } }
        ) { first, _ in first }
    }
}

/// Which details of a completion are others from now on; what is nil stays.
package struct CompletionPatch: Hashable, Sendable {
    /// When it was done: both nil when only its date is known.
    package struct Time: Hashable, Sendable {
        package var doneAt: Instant?
        /// The minute of the day by the user's clock then.
        package var minute: Int?

        package init(doneAt: Instant? = nil, minute: Int? = nil) { (self.doneAt, self.minute) = (doneAt, minute) }
    }

    package var note: String?
    /// The inner value is nil when it has none from now on.
    package var mood: HabitMood??
    package var time: Time?

    package init(note: String? = nil, mood: HabitMood?? = nil, time: Time? = nil) {
        (self.note, self.mood, self.time) = (note, mood, time)
    }

    /// What details say; what they leave open stays.
    package init(_ details: CompletionDetails) {
        note = details.note.isEmpty ? nil : details.note
        mood = details.mood.map { .some($0) }
        time = details.doneAt.map { Time(doneAt: $0, minute: details.minute) }
    }

    /// A later one is added: what both say is as it says.
    package mutating func add(_ later: CompletionPatch) {
        note = later.note ?? note
        mood = later.mood ?? mood
        time = later.time ?? time
    }

    package var isEmpty: Bool { self == CompletionPatch() }
}

extension HabitEdit {
    /// The id of a new completion.
    fileprivate var newID: CompletionID? { if case .complete(let id, _, _) = self { id } else { nil } }
    fileprivate var isDeletion: Bool { if case .delete = self { true } else { false } }
}

extension ServiceError {
    package static let completionNotFound = ServiceError(.notFound, "COMPLETION_NOT_FOUND", "There is no such completion.")
    package static let completionIDTaken = ServiceError(
        .alreadyExists,
        "COMPLETION_ID_TAKEN",
        "You have a completion of this id already."
    )
}
