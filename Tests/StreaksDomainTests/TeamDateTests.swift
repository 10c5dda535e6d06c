import Kernel
import StreaksDomain
import Testing

@Suite("A date of a circle's streak (TS-4)")
struct TeamDateTests {
    private static func user(_ number: UInt64) -> UserID { UserID(high: 1, low: number) }
    private static func at(_ text: String) -> Instant { Instant(rfc3339: text) ?? .epoch }
    private static func day(_ text: String) -> CalendarDate { CalendarDate(text) ?? CalendarDate(dayNumber: 0) }

    /// So many members who all live by UTC, from noon on May 1.
    private static func team(_ count: UInt64) -> StreakLedger {
        StreakLedger(
            start: at("2026-05-01T12:00:00Z"),
            participants: (1...count).map { StreakLedger.Participant(user($0), zone: .utc) }
        )
    }

    private static func contribute(_ users: [UInt64], _ text: String, to ledger: inout StreakLedger) throws {
        for number in users {
            let command = StreakCommand.contribute(user(number), receivedAt: at(text), capturedAt: nil)
            ledger = try ledger.applying(command, .team, at: at(text)).ledger
        }
    }

    @Test(arguments: [(1, 2), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (10, 6), (11, 7), (50, 30)])
    func `the quorum is 60 percent, never fewer than two`(_ members: UInt64, _ quorum: Int) {
        let date = Self.team(members).teamDate(Self.day("2026-05-01"), at: Self.at("2026-05-01T13:00:00Z"))
        #expect(date.quorum == quorum)
        #expect(date.members.count == Int(members))
        #expect(date.isNeutral == (members < 2))
        #expect(date.missing == quorum)
    }

    @Test func `contributions of members who count are what reaches it`() throws {
        var ledger = Self.team(4)
        try Self.contribute([1, 2], "2026-05-01T13:00:00Z", to: &ledger)
        let now = Self.at("2026-05-01T14:00:00Z")
        ledger = try ledger.applying(.join(Self.user(9), ZoneHistory(.utc)), .team, at: now).ledger
        try Self.contribute([9], "2026-05-01T15:00:00Z", to: &ledger)
        var date = ledger.teamDate(Self.day("2026-05-01"), at: Self.at("2026-05-01T16:00:00Z"))
        #expect(date.present == 2 && date.missing == 1 && !date.isReached)
        #expect(date.contributed[Self.user(9)] != nil && !date.members.contains(Self.user(9)))
        #expect(date.waiting == [Self.user(3), Self.user(4)])
        try Self.contribute([3], "2026-05-01T17:00:00Z", to: &ledger)
        date = ledger.teamDate(Self.day("2026-05-01"), at: Self.at("2026-05-01T18:00:00Z"))
        #expect(date.isReached)
        let next = ledger.teamDate(Self.day("2026-05-02"), at: Self.at("2026-05-02T08:00:00Z"))
        #expect(next.members.count == 5 && next.quorum == 3)
    }

    @Test func `a reminder comes three hours before the end, once, and only when something is at stake`() throws {
        var ledger = Self.team(3)
        func state(_ text: String) -> StreakState { fold(ledger, .team, at: Self.at(text)) }
        #expect(TeamReminder.next(ledger, state("2026-05-01T13:00:00Z"), handled: nil) == nil, "nothing can break yet")
        try Self.contribute([1, 2], "2026-05-01T13:00:00Z", to: &ledger)
        let after = state("2026-05-02T08:00:00Z")
        #expect(TeamReminder.next(ledger, after, handled: nil) == Self.at("2026-05-02T21:00:00Z"))
        #expect(TeamReminder.next(ledger, after, handled: Self.day("2026-05-02")) == nil)
        #expect(TeamReminder.due(ledger, state("2026-05-02T20:59:59Z"), handled: nil) == nil)
        let due = try #require(TeamReminder.due(ledger, state("2026-05-02T21:00:00Z"), handled: nil))
        #expect(due.date == Self.day("2026-05-02") && due.missing == 2 && due.hasGrace)
        #expect(TeamReminder.canHelp(due, ledger, at: Self.at("2026-05-02T21:00:00Z")).count == 3)
        #expect(TeamReminder.due(ledger, state("2026-05-03T00:00:00Z"), handled: nil) == nil, "in its grace")
        #expect(TeamView.isAtRisk(due, state("2026-05-02T21:00:00Z")))
        #expect(!TeamView.isAtRisk(due, state("2026-05-02T17:59:59Z")))
    }

    @Test func `whose date is over cannot help`() throws {
        let east = Zone("Asia/Tokyo") ?? .utc
        let ledger = StreakLedger(
            start: Self.at("2026-05-01T12:00:00Z"),
            participants: [
                StreakLedger.Participant(Self.user(1), zone: .utc), StreakLedger.Participant(Self.user(2), zone: east),
            ]
        )
        let date = ledger.teamDate(Self.day("2026-05-01"), at: Self.at("2026-05-01T21:00:00Z"))
        #expect(date.endsAt == Self.at("2026-05-02T00:00:00Z"))
        #expect(TeamReminder.canHelp(date, ledger, at: Self.at("2026-05-01T21:00:00Z")) == [Self.user(1)])
    }

    @Test func `a check-in claims the client's date while it is tolerated`() {
        func claimed(_ received: String, _ captured: String?) -> CalendarDate {
            ZoneHistory(.utc).dateClaimed(receivedAt: Self.at(received), capturedAt: captured.map(Self.at), .team)
        }
        #expect(claimed("2026-05-02T00:10:00Z", "2026-05-01T23:50:00Z") == Self.day("2026-05-01"))
        #expect(claimed("2026-05-02T06:00:01Z", "2026-05-01T23:50:00Z") == Self.day("2026-05-02"))
        #expect(claimed("2026-05-02T00:10:00Z", nil) == Self.day("2026-05-02"))
        #expect(claimed("2026-05-02T23:50:00Z", "2026-05-03T00:10:00Z") == Self.day("2026-05-02"), "too far ahead")
    }
}
