import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Recovery tokens that are used later than they were asked for (RC-2, RC-3, RC-4).
@Suite struct RecoverTests {
    let a = Story.a
    let b = Story.b

    /// Three complete dates, then a miss of 05-04; broken at midnight.
    private func broken(_ zones: [String] = ["UTC", "UTC"]) throws -> Story {
        var story = try Story(.mutual, zones)
        try story.noon(1...3)
        return story
    }

    private func asked(_ time: String, by user: UserID) -> StreakCommand { .recover(user, receivedAt: moment(time)) }

    @Test func `What was asked in time counts however late it is done, and covers every date until then`() throws {
        var story = try broken()
        let state = try story.at("2026-05-09T15:00:00Z", asked("2026-05-06T00:00:00Z", by: a))
        #expect(state.status == .active && state.count == 3)
        for date in 4...8 { #expect(state.mark(on: day("2026-05-0\(date)")) == .covered) }
        #expect(state.openDate == day("2026-05-09") && !state.isAtRisk, "covered, and open to be completed")
        try story.noon(10...10)
        #expect(try story.settle("2026-05-11T00:00:00Z").count == 4)
    }

    @Test func `What was asked too late is refused, however early it is done`() throws {
        let story = try broken()
        #expect(story.refusal("2026-05-06T00:00:01Z", asked("2026-05-06T00:00:01Z", by: a)) == "RECOVERY_WINDOW_EXPIRED")
        #expect(story.refusal("2026-05-06T00:00:01Z", asked("2026-05-06T00:00:00Z", by: a)) == nil)
        #expect(story.refusal("2026-05-06T00:00:01Z", .recover(a)) == "RECOVERY_WINDOW_EXPIRED")
    }

    @Test func `Asked for a date at risk and done after it broke the streak, the token undoes the break`() throws {
        var story = try broken()
        #expect(try story.settle("2026-05-04T19:00:00Z").dateToRecover == day("2026-05-04"))
        #expect(try story.settle("2026-05-05T03:00:00Z").dateToRecover == day("2026-05-04"))
        let state = try story.at("2026-05-05T03:00:00Z", asked("2026-05-04T19:00:00Z", by: b))
        #expect(state.status == .active && state.tokensInUse == 1)
        #expect(story.keys("restored") == ["restored:2026-05-04"])
        #expect(story.keys("recovered").count == 1)
    }

    @Test func `When both ask at once the second is refused because the first has done it; later there is nothing to recover`()
        throws
    {
        var story = try broken()
        try story.at("2026-05-05T01:00:00Z", .recover(a))
        #expect(story.refusal("2026-05-05T01:00:00Z", .recover(b)) == "RECOVERY_ALREADY_USED")
        #expect(story.refusal("2026-05-05T01:00:00Z", .recover(a)) == "RECOVERY_ALREADY_USED")
        try story.noon(6...6)
        #expect(story.refusal("2026-05-06T12:30:00Z", .recover(b)) == "STREAK_NOT_BROKEN")
    }

    @Test func `A streak that has ended has no date to recover and accepts no token`() throws {
        var story = try broken()
        _ = try story.settle("2026-05-05T01:00:00Z")
        try story.at("2026-05-05T02:00:00Z", .end)
        #expect(story.refusal("2026-05-05T03:00:00Z", .recover(a)) == "STREAK_NOT_BROKEN")
        #expect(story.refusal("2026-05-05T03:00:00Z", asked("2026-05-05T01:30:00Z", by: a)) == "STREAK_NOT_BROKEN")
    }

    @Test(arguments: 1...200) func `Asked in time and done whenever, in any zones: the count stays, nothing is missed`(
        seed: UInt64
    ) throws {
        var random = Seeded(seed)
        let zones = [random.pick(RandomHistory.zones), random.pick(RandomHistory.zones)].map(\.name)
        var story = try Story(.mutual, zones)
        var now = moment("2026-05-01T08:00:00Z")
        while story.ledger.contributions.count < 5 || now < moment("2026-05-06T00:00:00Z") {
            now = now + .hours(1)
            for participant in story.ledger.participants
            where !story.ledger.hasContributed(participant.user, on: participant.zones.date(at: now), known: now) {
                try story.post(participant.user, now.description)
            }
        }
        while try story.settle(now.description).status == .active { now = now + .hours(1) }
        let broken = try story.settle(now.description)
        let brokenAt = try #require(broken.brokenAt)
        let asked = brokenAt + .minutes(Int64.random(in: 0...(24 * 60), using: &random))
        let done = max(asked, now) + .minutes(Int64.random(in: 0...(6 * 24 * 60), using: &random))
        let user = random.pick([a, b])
        let state = try story.at(done.description, .recover(user, receivedAt: asked))
        #expect(state.status == .active && state.count == broken.count && state.tokensInUse == 1, "\(zones)")
        #expect(!state.days.values.contains(.missed), "\(zones) \(state.days)")
        #expect(story.keys("recovered").count == 1 && story.keys("broken").count == 1 && story.keys("restored").count == 1)
        let later = fold(story.ledger, .mutual, at: done + .minutes(1))
        #expect(later.effects(since: state).isEmpty, "\(zones)")
        #expect(fold(story.ledger.compacted(.mutual, at: done), .mutual, at: done).count == state.count)
    }
}
