import Kernel
import StreaksDomain
import Testing

/// The history of a streak step by step, with its times as text.
struct Story {
    var ledger: StreakLedger
    let policy: StreakPolicy
    var settledAt: Instant?
    var emitted: [StreakEffect] = []

    static let a = UserID(high: 1, low: 1)
    static let b = UserID(high: 1, low: 2)

    init(
        _ policy: StreakPolicy = .mutual,
        _ zones: [String] = ["UTC", "UTC"],
        from start: String = "2026-05-01T08:00:00Z",
        freezes: Int = 0
    ) throws {
        self.policy = policy
        let participants = try zones.enumerated().map { index, name in
            StreakLedger.Participant(UserID(high: 1, low: UInt64(index) + 1), zone: try #require(Zone(name)))
        }
        let start = try #require(Instant(rfc3339: start))
        let grants = freezes > 0 ? [StreakLedger.FreezeGrant(at: start, count: freezes)] : []
        ledger = StreakLedger(start: start, participants: participants, freezeGrants: grants)
    }

    /// Applies the command and records what was emitted.
    @discardableResult
    mutating func at(_ time: String, _ command: StreakCommand) throws -> StreakState {
        let now = try #require(Instant(rfc3339: time))
        let change = try ledger.applying(command, policy, at: now, settledAt: settledAt)
        ledger = change.ledger
        settledAt = now
        emitted += change.effects
        return change.state
    }

    @discardableResult
    mutating func post(_ user: UserID, _ time: String, captured: String? = nil) throws -> StreakState {
        let at = try #require(Instant(rfc3339: time))
        return try self.at(time, .contribute(user, receivedAt: at, capturedAt: captured.flatMap { Instant(rfc3339: $0) }))
    }

    /// All members post at noon UTC on these days of May 2026.
    mutating func noon(_ days: ClosedRange<Int>) throws {
        for day in days {
            for participant in ledger.participants { try post(participant.user, may(day, "12:00:00")) }
        }
    }

    @discardableResult
    mutating func settle(_ time: String) throws -> StreakState { try at(time, .settle) }

    func may(_ day: Int, _ time: String) -> String { "2026-05-\(day < 10 ? "0" : "")\(day)T\(time)Z" }

    func keys(_ prefix: String) -> [String] { emitted.map(\.key).filter { $0.hasPrefix(prefix) } }

    func refusal(_ time: String, _ command: StreakCommand) -> String? {
        guard let now = Instant(rfc3339: time) else { return "no time" }
        do throws(ServiceError) {
            _ = try ledger.applying(command, policy, at: now)
            return nil
        } catch {
            return error.reason
        }
    }
}

extension StreakPolicy {
    /// The check-in's rules with no freezes but those given.
    static let checkInEarningNone: StreakPolicy = {
        var policy = StreakPolicy.checkIn
        policy.freezes = Freezes(cap: 5, earnedEvery: nil)
        return policy
    }()
}

func day(_ text: String) -> CalendarDate { CalendarDate(text) ?? CalendarDate(dayNumber: 0) }
func moment(_ text: String) -> Instant { Instant(rfc3339: text) ?? .epoch }
