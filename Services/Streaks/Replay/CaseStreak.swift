public import Kernel
public import StreaksDomain
private import Synchronization

/// How the streak of a case begins.
public struct CaseStart: Sendable {
    /// `mutual`, `check_in`, `typed`, `team`.
    public let kind: String
    public let policy: StreakPolicy
    /// The ledger with nothing but its participants and the freezes in hand.
    public let ledger: StreakLedger

    init(_ streakCase: StreakCase) {
        (kind, policy, ledger) = (streakCase.kind, streakCase.policy, streakCase.ledger)
    }
}

/// A streak that a case is played on.
public protocol CaseStreak: Sendable {
    /// Does what a step says. - Returns: the date that a contribution counts for.
    ///
    /// - Throws: the refusal, as a `ServiceError`.
    func apply(_ command: StreakCommand, at now: Instant) async throws -> CalendarDate?
    /// What it comes to, everything due by then settled.
    func state(at now: Instant) async throws -> StreakState
    /// What is wrong with it besides, after a step.
    func problems(at now: Instant) async throws -> [String]
}

/// A streak in memory.
final class LedgerStreak: CaseStreak {
    private struct Ledgers {
        var whole: StreakLedger
        /// From a checkpoint that is renewed after every step.
        var short: StreakLedger
    }

    private let policy: StreakPolicy
    private let isIncremental: Bool
    private let ledgers: Mutex<Ledgers>

    init(_ start: CaseStart, isIncremental: Bool) {
        policy = start.policy
        self.isIncremental = isIncremental
        ledgers = Mutex(Ledgers(whole: start.ledger, short: start.ledger))
    }

    func apply(_ command: StreakCommand, at now: Instant) throws -> CalendarDate? {
        try ledgers.withLock { ledgers in
            let change = try ledgers.whole.applying(command, policy, at: now)
            ledgers.whole = change.ledger
            // As a service does, which stores it.
            defer {
                ledgers.whole.longestShown = change.state.longest
                ledgers.short.longestShown = change.state.longest
            }
            do throws(ServiceError) {
                ledgers.short = try ledgers.short.applying(command, policy, at: now).ledger
            } catch {
                // What reaches behind the checkpoint needs the whole ledger.
                guard error == .ledgerTooShort else { throw error }
                ledgers.short = change.ledger
            }
            return change.creditedTo
        }
    }

    func state(at now: Instant) -> StreakState { fold(ledgers.withLock { $0.whole }, policy, at: now) }

    func problems(at now: Instant) -> [String] {
        guard isIncremental else { return [] }
        let state = state(at: now)
        let short = ledgers.withLock { ledgers in
            ledgers.short = ledgers.short.compacted(policy, at: now)
            return ledgers.short
        }
        let agree = agree(state, fold(short, policy, at: now), after: short.base.settledThrough)
        return agree ? [] : ["folding from the checkpoint gives another state"]
    }

    /// Whether two folds show the same, as far as both reach back.
    private func agree(_ whole: StreakState, _ short: StreakState, after date: CalendarDate) -> Bool {
        var expected = whole
        expected.days = whole.days.filter { $0.key > date }
        expected.log = short.log
        return expected == short
    }
}
