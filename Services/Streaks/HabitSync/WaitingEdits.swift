internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// Changes of completions and skips that wait to be written together.
struct WaitingEdits {
    enum Edit: Sendable {
        case complete(CompletionID, CalendarDate, Amount?, CompletionDetails)
        case update(CompletionID, CalendarDate, Field<Amount>, CompletionPatch)
        case delete(CompletionID, CalendarDate)
        case skip(CalendarDate)
        case unskip(CalendarDate)

        /// What the ledger is to do; nil when it is not concerned.
        var edit: HabitEdit? {
            switch self {
            case .complete(let id, let date, let amount, _): .complete(id, on: date, amount)
            case .update(_, _, .unchanged, _): nil
            case .update(let id, let date, let amount, _): .change(id, on: date, amount.applied(to: nil))
            case .delete(let id, let date): .delete(id, on: date)
            case .skip(let date): .skip(date)
            case .unskip(let date): .unskip(date)
            }
        }
    }

    /// What waits for one habit, in order.
    struct OfHabit {
        let habit: HabitID
        /// With the places of their changes in the request.
        fileprivate(set) var all: [(index: Int, edit: Edit)] = []

        func edits(earliest: CalendarDate) -> HabitBook.Edits {
            var details: [CompletionID: CompletionDetails] = [:]
            for case (_, .complete(let id, _, _, let new)) in all { details[id] = new }
            var edits = HabitBook.Edits(all.compactMap(\.edit.edit), details: details, earliest: earliest)
            edits.mergesDetails = false
            return edits
        }
    }

    private var waiting: [HabitID: OfHabit] = [:]

    mutating func add(_ edit: Edit, _ index: Int, of habit: HabitID) {
        waiting[habit, default: OfHabit(habit: habit)].all.append((index, edit))
    }

    /// Takes what waits, of some habits or of all.
    mutating func take(_ only: Set<HabitID>?) -> [OfHabit] {
        let habits = only.map { waiting.keys.filter($0.contains) } ?? Array(waiting.keys)
        return habits.sorted().compactMap { waiting.removeValue(forKey: $0) }
    }
}

/// What became of the edits of one habit, change by change: merges, and details that the ledger does not have.
struct EditWalk {
    private let edits: WaitingEdits.OfHabit
    private let outcome: HabitOutcome
    /// The completions that exist at this point of the walk.
    private var present: Set<CompletionID>
    private(set) var answers: [Int: SyncAnswer] = [:]
    /// The details that completions have from now on.
    private(set) var patches: [CompletionID: CompletionPatch] = [:]
    /// Other names of completions.
    private(set) var names: [CompletionID: CompletionID] = [:]
    private(set) var deleted: Set<CompletionID> = []
    /// Completions that were not made.
    private(set) var refused: Set<CompletionID> = []

    init(_ edits: WaitingEdits.OfHabit, _ outcome: HabitOutcome, _ completions: PushedCompletions) {
        (self.edits, self.outcome) = (edits, outcome)
        let new = edits.all.compactMap { if case .complete(let id, _, _, _) = $0.edit { id } else { nil } }
        present = Set(completions.places.keys).subtracting(new).subtracting(completions.gone)
    }

    mutating func run() {
        var place = 0
        for (index, edit) in edits.all {
            let refusal = edit.edit == nil ? nil : outcome.refused[place]
            if edit.edit != nil { place += 1 }
            answers[index] = answer(edit, refusal)
        }
        patches = patches.filter { !deleted.contains($0.key) }
    }

    private mutating func answer(_ edit: WaitingEdits.Edit, _ refusal: ServiceError?) -> SyncAnswer {
        switch edit {
        case .complete(let id, _, _, let details):
            if let refusal {
                refused.insert(id)
                return .refused(refusal)
            }
            guard let other = outcome.merged[id] else {
                present.insert(id)
                return .applied
            }
            names[id] = other
            present.insert(other)
            patches[other, default: CompletionPatch()].add(CompletionPatch(details))
            let tag = SyncTag.Entity.self
            return .merged(.completion, id.cast(to: tag), into: other.cast(to: tag))
        case .update(let name, _, _, let patch):
            let id = names[name] ?? name
            if deleted.contains(id) { return .refused(.gone) }
            if let refusal { return .refused(refusal) }
            guard present.contains(id) else { return .refused(.completionNotFound) }
            patches[id, default: CompletionPatch()].add(patch)
            return .applied
        case .delete(let name, _):
            let id = names[name] ?? name
            // What is not there any more is deleted already, unless it was never made.
            guard refusal == nil else { return refused.contains(id) ? .refused(.completionNotFound) : .applied }
            present.remove(id)
            deleted.insert(id)
            return .applied
        case .skip, .unskip: return refusal.map(SyncAnswer.refused) ?? .applied
        }
    }
}
