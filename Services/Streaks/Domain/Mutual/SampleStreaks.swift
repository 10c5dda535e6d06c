public import Kernel

/// A streak of two made-up users, for guests (AU-8). Folded by the same engine as real ones.
public struct SampleStreak: Hashable, Sendable {
    /// Names this sample; no stored streak has it.
    public let id: StreakID
    /// The member as whom the guest sees it.
    public let reader: UserID
    public let friend: UserID
    public let friendUsername: String
    public let friendName: String
    public let ledger: StreakLedger

    /// Its state at noon of the date it was made for: the same all day.
    public var state: StreakState { fold(ledger, .mutual, at: noon) }
    private let noon: Instant

    /// The samples there are, each in another situation: both have posted today, it waits on the reader, it waits on the friend.
    public static func all(at now: Instant) -> [SampleStreak] {
        [
            SampleStreak(1, "mia.chen", "Mia Chen", days: 6, posted: .both, at: now),
            SampleStreak(2, "noah_d", "Noah Diaz", days: 47, recovered: 12, posted: .friend, at: now),
            SampleStreak(3, "zoe.okafor", "Zoe Okafor", days: 128, recovered: 71, posted: .reader, at: now),
        ]
    }

    /// Who has posted today.
    private enum Posted { case both, reader, friend }

    /// - Parameters:
    ///   - days: dates since the start, today not counted.
    ///   - recovered: how many dates ago the friend missed one, which a token of the reader's has kept.
    private init(
        _ number: UInt64,
        _ username: String,
        _ name: String,
        days: Int,
        recovered: Int? = nil,
        posted: Posted,
        at now: Instant
    ) {
        id = StreakID(high: 0, low: number)
        (reader, friend) = (UserID(high: 0, low: 0), UserID(high: 0, low: number))
        (friendUsername, friendName) = (username, name)
        let today = Zone.utc.date(at: now)
        noon = Zone.utc.start(of: today) + .hours(12)
        let start = today.advanced(by: -days)
        let missed = recovered.map { today.advanced(by: -$0) }
        var contributions: [StreakLedger.Contribution] = []
        for date in start...today {
            let midnight = Zone.utc.start(of: date)
            if date != today || posted != .friend {
                contributions.append(.init(user: reader, date: date, receivedAt: midnight + .hours(9)))
            }
            if date != missed && (date != today || posted != .reader) {
                contributions.append(.init(user: friend, date: date, receivedAt: midnight + .hours(11)))
            }
        }
        var recoveries: [StreakLedger.Recovery] = []
        if let missed {
            let at = Zone.utc.end(of: missed) + .hours(8)
            recoveries = [.init(kind: .token, user: reader, at: at, from: missed, through: missed.advanced(by: 1))]
        }
        ledger = StreakLedger(
            start: Zone.utc.start(of: start),
            participants: [.init(reader, zone: .utc), .init(friend, zone: .utc)],
            contributions: contributions,
            recoveries: recoveries
        )
    }
}
