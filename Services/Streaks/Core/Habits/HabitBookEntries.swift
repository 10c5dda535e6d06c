package import Kernel
package import StreaksDomain

/// Completions and skips.
extension HabitBook {
    /// A completion of an edit, with what it has besides its date and amount.
    package struct Edits: Sendable {
        package var edits: [HabitEdit]
        /// Of `.complete`.
        package var details: [CompletionID: CompletionDetails]
        /// The first date that takes completions and skips; nil: 7 dates before today (HA-12).
        package var earliest: CalendarDate?
        /// Whether milestones are told; a restore tells none.
        package var reportsMilestones = true

        package init(
            _ edits: [HabitEdit],
            details: [CompletionID: CompletionDetails] = [:],
            earliest: CalendarDate? = nil
        ) {
            (self.edits, self.details, self.earliest) = (edits, details, earliest)
        }
    }

    /// Changes completions and skips of a habit, in order; what is refused changes nothing, and its place says so (`PlannedChange.change.refused`).
    ///
    /// A completion whose id the user has already for another habit or date is refused with `COMPLETION_ID_TAKEN`; more than
    /// `HabitLimits.mostCompletions` on a date with `TOO_MANY_COMPLETIONS`.
    package func edit(_ habit: Locked, _ edits: Edits) async throws -> HabitOutcome {
        var (kept, places, refused): ([HabitEdit], [Int], [Int: ServiceError]) = ([], [], [:])
        let known = try await HabitRepository.places(of: edits.edits.compactMap(\.newID), of: user, work.sql)
        var counts: [CalendarDate: Int] = [:]
        for (index, edit) in edits.edits.enumerated() {
            if let id = edit.newID, let place = known[id], place.streak != habit.record.streak || place.date != edit.date {
                refused[index] = ServiceError(.alreadyExists, "COMPLETION_ID_TAKEN", "You have a completion of this id already.")
                continue
            }
            if edit.newID != nil {
                let there = habit.stored.ledger.contributions[edit.date]?.count ?? 0
                counts[edit.date, default: there] += 1
                if counts[edit.date, default: 0] > HabitLimits.mostCompletions {
                    refused[index] = .tooManyCompletions
                    continue
                }
            }
            kept.append(edit)
            places.append(index)
        }
        let change = try await writer.apply(
            .edit(kept, earliest: edits.earliest),
            to: habit.stored,
            origin: HabitOrigin(user: user, sequence: account.sequence, details: edits.details),
            reportsMilestones: edits.reportsMilestones,
            work
        )
        for (place, refusal) in change.change.refused { refused[places[place]] = refusal }
        try bury(change, of: habit)
        let merged = try await merge(kept, edits.details, change)
        return HabitOutcome(change: change, refused: refused, merged: merged)
    }

    /// Without a target a date has one completion: another one updates it (HA-14). What it says besides is kept there too.
    private func merge(
        _ edits: [HabitEdit],
        _ details: [CompletionID: CompletionDetails],
        _ change: PlannedChange
    ) async throws -> [CompletionID: CompletionID] {
        var merged: [CompletionID: CompletionID] = [:]
        for edit in edits {
            guard let id = edit.newID else { continue }
            let present = change.change.ledger.contributions[edit.date] ?? []
            guard !present.contains(where: { $0.id == id }), let existing = present.first?.id, present.count == 1 else {
                continue
            }
            merged[id] = existing
            guard let details = details[id], details != CompletionDetails() else { continue }
            try await HabitRepository.add(details, to: existing, stamp, work.sql)
        }
        return merged
    }

    private func bury(_ change: PlannedChange, of habit: Locked) throws {
        guard let entries = change.entries.habit else { return }
        try HabitAccountRepository.bury(
            entries.deleted.map { (.completion, "\($0)") } + entries.unskipped.map { (.skip, "\(habit.id) \($0)") },
            stamp,
            work.sql
        )
        try HabitAccountRepository.unbury(
            entries.added.compactMap { entry in entry.id.map { (.completion, "\($0)") } }
                + entries.skipped.map { (.skip, "\(habit.id) \($0)") },
            of: user,
            work.sql
        )
    }

    /// Another note, mood or time of a completion, of whatever age (HA-12).
    ///
    /// - Throws: `COMPLETION_NOT_FOUND`.
    package func describe(_ id: CompletionID, _ details: CompletionDetails) async throws {
        guard try await HabitRepository.describe(id, details, stamp, work.sql) else {
            throw ServiceError(.notFound, "COMPLETION_NOT_FOUND", "There is no such completion.")
        }
    }
}

/// What an edit of a habit came to.
package struct HabitOutcome: Sendable {
    package let change: PlannedChange
    /// What was refused, by its place in the list of edits.
    package let refused: [Int: ServiceError]
    /// Completions that updated one that was there: its id, by theirs.
    package let merged: [CompletionID: CompletionID]
    package var state: StreakState { change.change.state }
    /// The counts that were reached for the first time in this run, highest last.
    package var milestones: [Int] {
        change.change.effects.compactMap { if case .milestone(let count, _, _, _) = $0 { count } else { nil } }
    }
    /// The completions that the ledger has on a date now, in the order they came.
    package func completions(on date: CalendarDate) -> [StreakLedger.Contribution] {
        change.change.ledger.contributions[date] ?? []
    }
}

extension HabitEdit {
    /// The id of a new completion.
    fileprivate var newID: CompletionID? { if case .complete(let id, _, _) = self { id } else { nil } }
}
