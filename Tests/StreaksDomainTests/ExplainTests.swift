import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Why each date came to what it came to: the reasons are those of the fold.
struct ExplainTests {
    private func day(_ day: Int) -> CalendarDate {
        CalendarDate("2026-05-\(day < 10 ? "0" : "")\(day)") ?? CalendarDate(dayNumber: 0)
    }

    private func explained(_ story: Story, _ time: String) throws -> Explanation {
        explain(story.ledger, story.policy, at: try #require(Instant(rfc3339: time)))
    }

    @Test func `a mutual streak: complete, missed by one, and nothing at stake`() throws {
        var story = try Story()
        try story.noon(1...3)
        try story.post(Story.a, story.may(4, "12:00:00"))
        try story.settle("2026-05-05T12:00:00Z")
        let it = try explained(story, "2026-05-05T12:00:00Z")
        #expect(it.reasons[day(2)] == .completed(posted: 2, needed: 2))
        #expect(it.reasons[day(4)] == .missed(by: Story.b, count: 3, isDecision: false))
        #expect(it.state.effectsByDate[day(3)]?.contains(.completed(date: day(3), count: 3, run: day(1))) == true)
        let open = try explained(story, "2026-05-04T18:00:00Z")
        #expect(open.reasons[day(4)] == .open)
    }

    @Test func `a check-in streak: frozen, paused, excused by an outage, missed`() throws {
        var story = try Story(.checkInEarningNone, ["UTC"], freezes: 1)
        try story.noon(1...2)
        try story.settle("2026-05-04T12:00:00Z")
        try story.post(Story.a, "2026-05-04T13:00:00Z")
        try story.at("2026-05-04T14:00:00Z", .pause(until: day(7)))
        try story.post(Story.a, "2026-05-07T13:00:00Z")
        try story.settle("2026-05-09T12:00:00Z")
        let it = try explained(story, "2026-05-09T12:00:00Z")
        #expect(it.reasons[day(3)] == .frozen(byHand: false))
        #expect(it.reasons[day(5)] == .paused && it.reasons[day(6)] == .paused)
        #expect(it.reasons[day(8)] == .missed(by: Story.a, count: it.state.lastBreak?.count ?? 0, isDecision: false))
        var ledger = story.ledger
        let (from, until) = (
            try #require(Instant(rfc3339: "2026-05-08T00:00:00Z")), try #require(Instant(rfc3339: "2026-05-08T23:00:00Z"))
        )
        ledger.outages = [StreakLedger.Outage(from: from, until: until, declaredAt: until)]
        let excused = explain(ledger, story.policy, at: try #require(Instant(rfc3339: "2026-05-09T12:00:00Z")))
        #expect(excused.reasons[day(8)] == .outage)
    }

    /// Which marks a reason may stand for.
    private static func marks(_ reason: DayReason) -> Set<StreakState.Mark> {
        switch reason {
        case .completed: [.complete]
        case .open, .grace: [.open]
        case .nothingAtStake: [.none]
        case .missed: [.missed]
        case .frozen: [.frozen]
        case .covered, .protected: [.covered]
        case .filled: [.filled]
        case .free, .paused, .archived, .skipped, .notScheduled, .outage, .hardlySeen, .tooFewMembers, .cutWeek: [.neutral]
        case .partOfWeek: []
        }
    }

    @Test(arguments: [(StreakPolicy.mutual, 2), (.checkIn, 1), (.typed, 1), (.team, 3)])
    func `whatever happens, the fold is the same and each reason is one for its mark`(policy: StreakPolicy, users: Int) {
        for seed in 0..<20 as Range<UInt64> {
            var history = RandomHistory(seed: seed, policy: policy, users: users, isThorough: false)
            history.live(days: 40)
            let ledger = history.short
            let it = explain(ledger, policy, at: history.now)
            #expect(it.state == fold(ledger, policy, at: history.now), "seed \(seed)")
            for (date, mark) in it.state.days {
                let marks = it.reasons[date].map(Self.marks) ?? []
                #expect(
                    marks.contains(mark),
                    "seed \(seed), \(date): \(mark), \(it.reasons[date].map { "\($0)" } ?? "no reason")"
                )
            }
        }
    }
}
