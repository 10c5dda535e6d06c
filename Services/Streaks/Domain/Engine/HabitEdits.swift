public import Kernel

/// A change of the completions and skips of a habit.
public enum HabitEdit: Hashable, Sendable {
    /// A completion (HA-2, HA-14). Without a target its amount, if it has one, replaces that of the one that the date has, under that one's id;
    /// with one it adds to the date, and without an amount it adds what is missing. Nothing happens when the ledger has this id already.
    case complete(CompletionID, on: CalendarDate, Amount?)
    /// Another amount for a completion.
    case change(CompletionID, on: CalendarDate, Amount?)
    /// Deletes a completion, of whatever age (HA-12).
    case delete(CompletionID, on: CalendarDate)
    /// A due date is skipped: it keeps the run and does not extend it. Nothing happens when it is.
    case skip(CalendarDate)
    /// It is not skipped after all, of whatever age. Nothing happens when it is not.
    case unskip(CalendarDate)

    /// The date that it is about.
    public var date: CalendarDate {
        switch self {
        case .complete(_, let date, _), .change(_, let date, _), .delete(_, let date), .skip(let date), .unskip(let date): date
        }
    }

    /// The same with another name of its completion.
    fileprivate func renamed(_ names: [CompletionID: CompletionID]) -> HabitEdit {
        switch self {
        case .change(let id, let date, let amount): .change(names[id] ?? id, on: date, amount)
        case .delete(let id, let date): .delete(names[id] ?? id, on: date)
        case .complete, .skip, .unskip: self
        }
    }

    /// Whether only some dates take it.
    fileprivate var hasReach: Bool {
        switch self {
        case .complete, .change, .skip: true
        case .delete, .unskip: false
        }
    }
}

extension StreakPolicy.Habits {
    /// The earliest date that a sync may complete or skip: 7 dates before that device's last sync, at most 366 before today (HA-12).
    public func earliestDate(lastSync: CalendarDate?, today: CalendarDate) -> CalendarDate {
        let usual = today.advanced(by: -reach)
        guard let lastSync else { return usual }
        return max(today.advanced(by: -366), min(usual, lastSync.advanced(by: -reach)))
    }
}

extension StreakLedger {
    /// The completion of this id on a date.
    public func completion(_ id: CompletionID, on date: CalendarDate) -> Contribution? {
        contributions[date]?.first { $0.id == id }
    }

    /// What edits of a habit came to, each by its place.
    struct HabitEdited {
        var refused: [Int: ServiceError] = [:]
        /// Completions that changed one that was there, or found nothing left to add: the id of that one.
        var merged: [Int: CompletionID] = [:]
        var room = HabitRoom.unlimited
    }

    /// Later edits may name a completion that was merged by the id it came with.
    ///
    /// - Throws: `NO_HABIT`, `STREAK_NOT_ACTIVE`, or `ServiceError.ledgerTooShort`.
    mutating func edit(
        _ edits: [HabitEdit],
        earliest: CalendarDate?,
        room: HabitRoom,
        _ policy: StreakPolicy,
        _ state: StreakState
    ) throws(ServiceError) -> HabitEdited {
        guard let rules = policy.habits, let clock = participants.first?.zones, habit != nil else { throw .noHabit }
        guard endedAt == nil else { throw .notActive }
        let today = clock.date(at: state.asOf)
        let earliest = earliest ?? today.advanced(by: -rules.reach)
        let isWhole = base.settledThrough < firstDate
        var edited = HabitEdited(room: room)
        var names: [CompletionID: CompletionID] = [:]
        for (index, edit) in edits.enumerated() {
            if edit.hasReach, edit.date > today {
                edited.refused[index] = ServiceError(
                    .invalidArgument,
                    "DATE_IN_FUTURE",
                    "This date has not begun: today is \(today)."
                )
                continue
            }
            if edit.hasReach, edit.date < earliest {
                edited.refused[index] = ServiceError(
                    .invalidArgument,
                    "DATE_TOO_OLD",
                    "This date is too long ago: the earliest is \(earliest)."
                )
                continue
            }
            if !isWhole, edit.date <= base.settledThrough { throw .ledgerTooShort }
            let calendar = SlotCalendar(self, policy)
            if case .complete(let id, let date, let amount) = edit {
                do throws(ServiceError) {
                    guard let other = try complete(id, date, amount, calendar, &edited.room, at: state.asOf) else { continue }
                    edited.merged[index] = other
                    names[id] = other
                } catch {
                    edited.refused[index] = error
                }
            } else {
                edited.refused[index] = apply(edit.renamed(names), calendar, &edited.room)
                // Edits come to the same at once and one by one: what follows may be before the start now.
                if isWhole, edit.date == habit?.startsOn, contributions[edit.date] == nil { findStart() }
            }
        }
        if isWhole { findStart() }
        return edited
    }

    /// HA-11: an earlier completion moves the start, and without it the start moves back again.
    private mutating func findStart() {
        let earliest = contributions.keys.min()
        if earliest != habit?.startsOn { begin(on: earliest) }
    }

    private mutating func begin(on date: CalendarDate?) {
        habit?.startsOn = date
        base = Checkpoint(settledThrough: firstDate.advanced(by: -1))
    }

    private mutating func apply(_ edit: HabitEdit, _ calendar: SlotCalendar, _ room: inout HabitRoom) -> ServiceError? {
        switch edit {
        case .complete: break
        case .change(let id, let date, let amount):
            guard let index = contributions[date]?.firstIndex(where: { $0.id == id }) else { return .noCompletion }
            if amount == nil, calendar.version(on: date).target != nil { return .noAmount }
            contributions[date]?[index].amount = amount
        case .delete(let id, let date):
            guard completion(id, on: date) != nil else { return .noCompletion }
            contributions[date]?.removeAll { $0.id == id }
            if contributions[date]?.isEmpty ?? false { contributions[date] = nil }
            room.delete(id)
        case .skip(let date):
            guard calendar.includes(date) else {
                return ServiceError(.failedPrecondition, "DATE_NOT_DUE", "Nothing is due on this date.")
            }
            habit?.skips.insert(date)
        case .unskip(let date): habit?.skips.remove(date)
        }
        return nil
    }

    /// HA-14.
    ///
    /// - Returns: the completion that was changed instead of adding one.
    /// - Throws: `TOO_MANY_COMPLETIONS` when the date has as many as it can, counted as the edits before this one left it; what `room` says
    ///   when it would be a row that the account has no room for.
    private mutating func complete(
        _ id: CompletionID,
        _ date: CalendarDate,
        _ amount: Amount?,
        _ calendar: SlotCalendar,
        _ room: inout HabitRoom,
        at now: Instant
    ) throws(ServiceError) -> CompletionID? {
        guard let user = participants.first?.user, completion(id, on: date) == nil else { return nil }
        let present = contributions[date] ?? []
        var amount = amount
        if let target = calendar.version(on: date).target {
            if amount == nil {
                guard !present.reaches(target, by: { _ in true }) else { return present.first?.id }
                amount = present.reduce(target) { $0 - ($1.amount ?? .zero) }
            }
        } else if !present.isEmpty {
            contributions[date]?[0].amount = amount ?? present[0].amount
            return present[0].id
        }
        guard present.count < HabitLimits.mostCompletions else { throw .tooManyCompletions }
        try room.add()
        if date < firstDate { begin(on: date) }
        contributions[date, default: []].append(
            Contribution(user: user, date: date, receivedAt: now, id: id, amount: amount)
        )
        return nil
    }
}

extension ServiceError {
    static let noHabit = ServiceError(.failedPrecondition, "NO_HABIT", "This streak is no habit.")
    static let noCompletion = ServiceError(.notFound, "COMPLETION_NOT_FOUND", "There is no such completion.")
    static let tooManyCompletions = ServiceError(
        .failedPrecondition,
        "TOO_MANY_COMPLETIONS",
        "A habit has at most \(HabitLimits.mostCompletions) completions on a date."
    )
    static let noAmount = validation(field: "value", "is needed for a habit with a target")
}
