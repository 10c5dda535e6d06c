import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Zones that streaks receive after they settled dates without them (SD-3, SD-5, SD-6).
@Suite struct LateZoneTests {
    let a = Story.a
    let b = Story.b
    static let kathmandu = ["Asia/Kathmandu", "Asia/Kathmandu"]

    /// Both posted on the first of May; on the second only `poster` did, before the midnight in Kathmandu at 18:15Z.
    private func story(_ zones: [String] = kathmandu, posted poster: UserID) throws -> Story {
        var story = try Story(.mutual, zones, from: "2026-05-01T02:00:00Z")
        for user in [a, b] { try story.post(user, "2026-05-01T03:00:00Z") }
        try story.post(poster, "2026-05-02T03:00:00Z")
        return story
    }

    private func fly(_ story: inout Story, _ user: UserID, to zone: String, since: String, heard: String) throws -> StreakState {
        try story.at(heard, .changeZone(user, try #require(Zone(zone)), since: moment(since)))
    }

    @Test func `The old midnight passes before the zone is received: the break is undone and the date ends where it ends`() throws
    {
        var story = try story(posted: a)
        let broken = try story.settle("2026-05-02T18:16:00Z")
        #expect(broken.status == .broken && broken.brokenBy == b && story.keys("broken").count == 1)
        let state = try fly(
            &story,
            a,
            to: "America/Los_Angeles",
            since: "2026-05-02T17:00:00Z",
            heard: "2026-05-02T18:30:00Z"
        )
        #expect(state.status == .active && state.count == 1 && state.openDate == day("2026-05-02"))
        #expect(state.deadlineAt == moment("2026-05-03T07:00:00Z"), "midnight in Los Angeles")
        #expect(story.keys("restored") == ["restored:2026-05-02"])
        // Emitted once, by the first that settles; and the present date counts as ever.
        try story.settle("2026-05-02T18:31:00Z")
        #expect(story.keys("restored").count == 1)
        try story.post(b, "2026-05-02T18:40:00Z")
        let end = try story.settle("2026-05-03T07:00:00Z")
        #expect(end.status == .broken && end.brokenAt == moment("2026-05-03T07:00:00Z") && end.brokenBy == b)
    }

    @Test func `Received in time or late, from the start or from a checkpoint: the same dates, counts and deadlines`() throws {
        var late = try story(posted: a)
        try late.settle("2026-05-02T18:16:00Z")
        _ = try fly(&late, a, to: "America/Los_Angeles", since: "2026-05-02T17:00:00Z", heard: "2026-05-02T18:30:00Z")
        var punctual = try story(posted: a)
        try punctual.at("2026-05-02T17:00:00Z", .changeZone(a, try #require(Zone("America/Los_Angeles"))))
        for time in ["2026-05-02T18:30:00Z", "2026-05-03T06:59:59Z", "2026-05-03T07:00:00Z", "2026-05-04T12:00:00Z"] {
            let (one, other) = (fold(late.ledger, .mutual, at: moment(time)), fold(punctual.ledger, .mutual, at: moment(time)))
            #expect(one.days == other.days && one.count == other.count && one.status == other.status, "\(time)")
            #expect(one.deadlineAt == other.deadlineAt && one.brokenAt == other.brokenAt && one.brokenBy == other.brokenBy)
            let short = late.ledger.compacted(.mutual, at: moment(time))
            #expect(fold(short, .mutual, at: moment(time)).status == other.status, "\(time)")
        }
    }

    @Test func `The time in which it wrongly counted as broken does not count as seen`() throws {
        // Broken from 18:15Z until 07:00Z: of the third, Kathmandu has 24 h and could use 11 h 15 min.
        var story = try story(posted: a)
        try story.settle("2026-05-02T18:16:00Z")
        let third = StreakCommand.contribute(b, receivedAt: moment("2026-05-03T03:00:00Z"), capturedAt: nil)
        #expect(story.refusal("2026-05-03T03:00:00Z", third) == "STREAK_NOT_ACTIVE")
        _ = try fly(&story, a, to: "America/Los_Angeles", since: "2026-05-02T17:00:00Z", heard: "2026-05-03T06:59:00Z")
        // B's second is saved by what was received in time for it.
        let received = (moment("2026-05-03T00:14:00Z"), moment("2026-05-02T18:00:00Z"))
        try story.at("2026-05-03T06:59:30Z", .contribute(b, receivedAt: received.0, capturedAt: received.1))
        #expect(try story.settle("2026-05-03T07:00:00Z").count == 2)
        try story.post(a, "2026-05-03T20:00:00Z")
        let state = try story.settle("2026-05-04T07:00:00Z")
        #expect(state.status == .active && state.mark(on: day("2026-05-03")) == .neutral, "\(state.status)")
    }

    @Test func `A token that was used for a break which never was comes back to who can still post`() throws {
        var story = try story(posted: a)
        try story.settle("2026-05-02T18:16:00Z")
        try story.at("2026-05-02T18:20:00Z", .recover(b))
        // It is B who has flown: the second of May has only begun to end in Los Angeles.
        let state = try fly(
            &story,
            b,
            to: "America/Los_Angeles",
            since: "2026-05-02T17:00:00Z",
            heard: "2026-05-02T18:30:00Z"
        )
        #expect(state.status == .active && state.tokensInUse == 0 && state.tokensReturned == 1)
        #expect(state.openDate == day("2026-05-02") && state.mark(on: day("2026-05-02")) == .open)
        #expect(story.keys("token-returned").count == 1)
        #expect(try story.post(b, "2026-05-03T06:00:00Z").count == 2)
    }

    @Test func `A token stays where it still saves the date: who missed it can do so no more`() throws {
        var story = try story(posted: a)
        try story.settle("2026-05-02T18:16:00Z")
        try story.at("2026-05-02T18:20:00Z", .recover(b))
        let state = try fly(
            &story,
            a,
            to: "America/Los_Angeles",
            since: "2026-05-02T17:00:00Z",
            heard: "2026-05-02T18:30:00Z"
        )
        #expect(state.status == .active && state.tokensInUse == 1 && state.mark(on: day("2026-05-02")) == .open)
        let kept = try story.settle("2026-05-03T07:00:00Z")
        #expect(kept.status == .active && kept.mark(on: day("2026-05-02")) == .covered && kept.tokensInUse == 1)
    }

    @Test(arguments: [("Asia/Dubai", true), ("America/Los_Angeles", false)])
    func `A token used in advance stays if the date was at risk, and comes back if it had half a day left`(
        zone: String,
        stays: Bool
    ) throws {
        var story = try story(posted: a)
        try story.at("2026-05-02T17:30:00Z", .recover(b))
        let state = try fly(&story, b, to: zone, since: "2026-05-02T17:00:00Z", heard: "2026-05-02T18:30:00Z")
        #expect(state.tokensInUse == (stays ? 1 : 0) && state.status == .active)
    }

    @Test func `A freeze, a repair and a time machine that were spent on a date which had not ended come back`() throws {
        func solo(_ freezes: Int, days: Int = 8) throws -> Story {
            var story = try Story(.checkInEarningNone, ["Asia/Kathmandu"], from: "2026-05-01T02:00:00Z", freezes: freezes)
            for day in 1..<days { try story.post(a, story.may(day, "03:00:00")) }
            try story.settle(story.may(days, "18:16:00"))
            return story
        }
        func heard(_ story: inout Story) throws -> StreakState {
            try fly(&story, a, to: "America/Los_Angeles", since: story.may(8, "17:00:00"), heard: story.may(8, "18:30:00"))
        }
        var frozen = try solo(1)
        #expect(frozen.keys("freeze-spent").count == 1)
        let thawed = try heard(&frozen)
        #expect(thawed.freezesLeft == 1 && thawed.count == 7 && frozen.keys("freeze-returned") == ["freeze-returned:2026-05-08"])

        var repaired = try solo(0)
        #expect(repaired.keys("broken").count == 1)
        try repaired.at(repaired.may(8, "18:20:00"), .repair(a, id: OperationID(high: 1, low: 1)))
        let back = try heard(&repaired)
        #expect(back.count == 7 && back.openDate == day("2026-05-08") && repaired.keys("cover-returned").count == 1)
        #expect(back.lastBreak == nil)

        var filled = try solo(0)
        try filled.at(filled.may(8, "18:20:00"), .fill(day("2026-05-08"), by: a, id: OperationID(high: 1, low: 2)))
        #expect(try heard(&filled).count == 7)
        #expect(filled.keys("cover-returned").count == 1)
        #expect(try filled.post(a, filled.may(9, "05:00:00")).count == 8, "the eighth in Los Angeles")
    }

    @Test func `A zone further east that comes late ends a date where it ended, once`() throws {
        // B misses the second in Los Angeles, where it ends at 07:00Z of the third; in Kathmandu it ended on arrival, at 03:00Z.
        let home = "America/Los_Angeles"
        var story = try Story(.mutual, [home, home], from: "2026-05-01T15:00:00Z")
        for user in [a, b] { try story.post(user, "2026-05-01T16:00:00Z") }
        try story.post(a, "2026-05-02T16:00:00Z")
        _ = try story.settle("2026-05-03T06:00:00Z")
        let state = try fly(&story, a, to: "Asia/Kathmandu", since: "2026-05-03T03:00:00Z", heard: "2026-05-03T06:30:00Z")
        #expect(state.status == .active, "B's second goes on until 07:00Z")
        let end = try fly(&story, b, to: "Asia/Kathmandu", since: "2026-05-03T04:00:00Z", heard: "2026-05-03T06:40:00Z")
        #expect(end.status == .broken && end.brokenAt == moment("2026-05-03T04:00:00Z") && end.brokenBy == b)
        #expect(story.keys("broken").count == 1)
    }
}
