public import Kernel

/// A run of a streak: the dates from its first counted one to the one before the miss.
public struct StreakRun: Hashable, Sendable {
    public enum End: Hashable, Sendable {
        case running
        case missed
        /// A moderator shut the account (SO-9).
        case moderation
        /// The account was deleted.
        case ended
    }

    /// The count it reached.
    public var length: Int
    public var start: CalendarDate
    /// The last date that counts or was kept.
    public var end: CalendarDate
    public var reason: End
    /// nil unless missed.
    public var missed: CalendarDate?
    /// It had broken and goes on all the same.
    public var isRestored: Bool

    /// The runs of a streak, oldest first.
    ///
    /// - Parameters:
    ///   - ledger: whole: from its start.
    ///   - state: its fold.
    ///   - restored: missed dates whose breaks were undone.
    public static func all(_ ledger: StreakLedger, _ state: StreakState, restored: Set<CalendarDate>) -> [StreakRun] {
        var runs: [StreakRun] = []
        var open: StreakRun?
        func grow(_ date: CalendarDate, _ count: Int) {
            var run = open ?? StreakRun(length: 0, start: date, end: date, reason: .running, missed: nil, isRestored: false)
            (run.length, run.end) = (max(run.length, count), max(run.end, date))
            open = run
        }
        func close(_ reason: End, _ missed: CalendarDate?) {
            guard var run = open else { return }
            run.reason = reason
            run.missed = missed
            // Dates that were kept belong to it.
            if let missed, missed > run.end { run.end = missed.advanced(by: -1) }
            runs.append(run)
            open = nil
        }
        for effect in state.log {
            switch effect {
            case .completed(let date, let count, _), .filled(let date, let count, _), .freezeSpent(let date, let count, _, _):
                grow(date, count)
            case .broken(let date, let at, _, _):
                let isDecided = ledger.isBreakOff(at: at)
                close(isDecided ? .moderation : .missed, isDecided ? nil : date)
            case .ended: close(.ended, nil)
            default: break
            }
        }
        if var open {
            // Those that were kept since its last counted one, as when it is closed.
            if let next = state.openDate { open.end = max(open.end, next.advanced(by: -1)) }
            runs.append(open)
        }
        return runs.map { run in
            var run = run
            run.isRestored = restored.contains { run.start <= $0 && $0 <= run.end }
            return run
        }
    }
}
