import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Streaks that a moderator's decision breaks (SO-9).
@Suite struct BreakOffTests {
    let a = Story.a
    let b = Story.b

    @Test func `A break off breaks at once, by the one it is for, and keeps the count`() throws {
        var story = try Story()
        try story.noon(1...3)
        let state = try story.at("2026-05-04T09:00:00Z", .breakOff(by: b))
        #expect(state.status == .broken && state.brokenBy == b && state.count == 3 && state.longest == 3)
        #expect(state.brokenAt == moment("2026-05-04T09:00:00Z"))
        #expect(state.missedDate == CalendarDate("2026-05-04") && state.nextDue == nil && !state.isAtRisk)
        #expect(story.keys("broken") == ["broken:2026-05-04"])
    }

    @Test func `It is emitted once, however often it is decided and folded`() throws {
        var story = try Story()
        try story.noon(1...3)
        try story.at("2026-05-04T09:00:00Z", .breakOff(by: b))
        let again = try story.at("2026-05-04T10:00:00Z", .breakOff(by: b))
        #expect(again.brokenAt == moment("2026-05-04T09:00:00Z"))
        for day in ["05", "09", "30"] { #expect(try story.settle("2026-05-\(day)T12:00:00Z").status == .broken) }
        #expect(story.keys("broken").count == 1)
        #expect(story.keys("restored").isEmpty)
    }

    @Test func `A date that both had completed counts, and the streak is broken all the same`() throws {
        var story = try Story()
        try story.noon(1...4)
        let state = try story.at("2026-05-04T13:00:00Z", .breakOff(by: a))
        #expect(state.count == 4 && state.status == .broken && state.brokenBy == a)
        #expect(state.mark(on: try #require(CalendarDate("2026-05-04"))) == .complete)
    }

    @Test func `Nothing undoes it: no snap, no token, no outage`() throws {
        var story = try Story()
        try story.noon(1...3)
        try story.post(a, "2026-05-04T08:00:00Z")
        try story.at("2026-05-04T09:00:00Z", .breakOff(by: b))
        #expect(story.refusal("2026-05-04T10:00:00Z", .recover(a)) == "RECOVERY_WINDOW_EXPIRED")
        let snap = StreakCommand.contribute(b, receivedAt: moment("2026-05-04T10:00:00Z"), capturedAt: nil)
        #expect(story.refusal("2026-05-04T10:00:00Z", snap) == "STREAK_NOT_ACTIVE")
        let late = StreakCommand.contribute(
            b,
            receivedAt: moment("2026-05-04T10:00:00Z"),
            capturedAt: moment("2026-05-04T08:30:00Z")
        )
        #expect(story.refusal("2026-05-04T10:00:00Z", late) == "STREAK_NOT_ACTIVE")
        let outage = StreakCommand.declareOutage(from: moment("2026-05-04T00:00:00Z"), until: moment("2026-05-05T00:00:00Z"))
        #expect(try story.at("2026-05-06T09:00:00Z", outage).status == .broken)
        #expect(story.keys("restored").isEmpty)
    }

    @Test func `A snap received before it and recorded after it counts for its date`() throws {
        var story = try Story()
        try story.noon(1...3)
        try story.post(a, "2026-05-04T08:00:00Z")
        try story.at("2026-05-04T09:00:00Z", .breakOff(by: b))
        let snap = StreakCommand.contribute(b, receivedAt: moment("2026-05-04T08:59:00Z"), capturedAt: nil)
        let state = try story.at("2026-05-04T09:00:10Z", snap)
        #expect(state.count == 4 && state.status == .broken && state.brokenBy == b)
        #expect(story.keys("broken").count == 1)
    }

    @Test func `What counts nothing, is broken already, or has ended stays as it is`() throws {
        var fresh = try Story()
        #expect(try fresh.at("2026-05-01T09:00:00Z", .breakOff(by: a)).status == .active)
        #expect(fresh.ledger.brokenOff == nil)

        var broken = try Story()
        try broken.noon(1...2)
        try broken.post(a, "2026-05-03T12:00:00Z")
        let state = try broken.at("2026-05-04T09:00:00Z", .breakOff(by: a))
        #expect(state.brokenBy == b, "the miss came first")
        #expect(broken.ledger.brokenOff == nil)

        var ended = try Story()
        try ended.noon(1...2)
        try ended.at("2026-05-02T13:00:00Z", .end)
        #expect(try ended.at("2026-05-02T14:00:00Z", .breakOff(by: a)).status == .ended)
    }

    @Test func `A broken off streak can end, and only a member can break it`() throws {
        var story = try Story()
        try story.noon(1...2)
        let stranger = UserID(high: 9, low: 9)
        #expect(story.refusal("2026-05-02T13:00:00Z", .breakOff(by: stranger)) == "NOT_A_MEMBER")
        try story.at("2026-05-03T09:00:00Z", .breakOff(by: a))
        let state = try story.at("2026-05-10T09:00:00Z", .end)
        #expect(state.status == .ended && state.longest == 2)
    }

    @Test(arguments: 1...60) func `Whatever the zones and the hour, folding later or from a checkpoint gives the same break`(
        seed: UInt64
    ) throws {
        var random = Seeded(seed)
        let zones = [random.pick(RandomHistory.zones), random.pick(RandomHistory.zones)].map(\.name)
        var story = try Story(.mutual, zones)
        let start = moment("2026-05-01T08:00:00Z")
        for hour in 0..<(24 * 12) {
            let now = start + .hours(Int64(hour))
            for participant in story.ledger.participants
            where !story.ledger.hasContributed(participant.user, on: participant.zones.date(at: now), known: now) {
                try story.at(now.description, .contribute(participant.user, receivedAt: now, capturedAt: nil))
            }
        }
        let at = start + .hours(24 * 12) + .minutes(Int64.random(in: 1...1_500, using: &random))
        let broken = try story.at(at.description, .breakOff(by: a))
        #expect(broken.status == .broken && broken.brokenAt == at && broken.count >= 10, "\(zones)")
        for days in [1, 3, 40] {
            let later = fold(story.ledger, .mutual, at: at + .days(Int64(days)))
            #expect(later.status == .broken && later.brokenBy == a && later.count == broken.count, "\(zones)")
            #expect(later.effects(since: broken).isEmpty, "\(zones): \(later.effects(since: broken))")
            let short = story.ledger.compacted(.mutual, at: at + .days(Int64(days)))
            let compact = fold(short, .mutual, at: at + .days(Int64(days)))
            #expect(compact.status == .broken && compact.count == later.count && compact.brokenAt == at, "\(zones)")
        }
    }
}
