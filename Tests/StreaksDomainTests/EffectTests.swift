import Kernel
import Testing

@testable import StreaksDomain

@Suite struct EffectTests {
    let a = Story.a
    let b = Story.b

    @Test func `Two settlers at once, and settling again: the break is emitted once`() throws {
        var story = try Story()
        try story.noon(1...2)
        let now = moment("2026-05-06T00:01:00Z")
        let one = try story.ledger.applying(.settle, .mutual, at: now, settledAt: story.settledAt)
        let other = try story.ledger.applying(.settle, .mutual, at: now, settledAt: story.settledAt)
        #expect(one == other)
        #expect(one.effects.map(\.key) == ["broken:2026-05-03"])
        #expect(try one.ledger.applying(.settle, .mutual, at: now, settledAt: now).effects == [])
    }

    @Test func `Settling three days late says the same as settling at once`() throws {
        var early = try Story()
        try early.noon(1...2)
        var late = early
        for hour in 3...5 { _ = try early.settle("2026-05-0\(hour)T00:01:00Z") }
        #expect(try early.settle("2026-05-06T15:00:00Z") == late.settle("2026-05-06T15:00:00Z"))
        #expect(early.emitted == late.emitted)
    }

    @Test func `What a change spends and gives back itself was not used; what was spent before comes back`() throws {
        let late = StreakCommand.contribute(
            a,
            receivedAt: moment("2026-05-05T03:00:00Z"),
            capturedAt: moment("2026-05-04T21:00:00Z")
        )
        for isSettled in [false, true] {
            var story = try Story(.checkIn, ["UTC"], freezes: 1)
            try story.noon(1...3)
            if isSettled { try story.settle("2026-05-05T00:01:00Z") }
            let change = try story.ledger.applying(
                late,
                .checkIn,
                at: moment("2026-05-05T03:00:00Z"),
                settledAt: story.settledAt
            )
            let freezes = ["freeze-spent:2026-05-04", "freeze-returned:2026-05-04"]
            let (all, lasting) = (change.effects.map(\.key), change.lastingEffects.map(\.key))
            #expect(all.filter(freezes.contains) == (isSettled ? [freezes[1]] : freezes))
            #expect(lasting.filter(freezes.contains) == (isSettled ? [freezes[1]] : []))
            #expect(lasting.filter { !freezes.contains($0) } == all.filter { !freezes.contains($0) })
        }
    }

    @Test func `Two devices at once: the second is refused`() throws {
        var story = try Story()
        try story.post(a, "2026-05-01T09:00:00Z")
        let again = StreakCommand.contribute(a, receivedAt: moment("2026-05-01T09:00:00Z"), capturedAt: nil)
        #expect(story.refusal("2026-05-01T09:00:00Z", again) == "ALREADY_POSTED")
    }

    @Test func `A snap received before the break and recorded after a crash undoes it`() throws {
        var story = try Story()
        try story.noon(1...3)
        try story.post(a, "2026-05-04T12:00:00Z")
        #expect(try story.settle("2026-05-05T00:01:00Z").status == .broken)
        // Ten hours after midnight: no late arrival any more, but it had been received in time.
        let snap = StreakCommand.contribute(b, receivedAt: moment("2026-05-04T23:59:00Z"), capturedAt: nil)
        let state = try story.at("2026-05-05T10:00:00Z", snap)
        #expect(state.status == .active && state.count == 4)
        #expect(story.keys("restored") == ["restored:2026-05-04"])
    }

    @Test func `Five hours after the break: restored, and the token comes back`() throws {
        var story = try Story()
        try story.noon(1...3)
        try story.post(a, "2026-05-04T12:00:00Z")
        try story.at("2026-05-05T00:30:00Z", .recover(a))
        let state = try story.post(b, "2026-05-05T05:00:00Z", captured: "2026-05-04T22:00:00Z")
        #expect(state.count == 4 && state.tokensReturned == 1 && state.tokensInUse == 0)
        #expect(story.keys("broken") == ["broken:2026-05-04"])
        #expect(story.keys("restored") == ["restored:2026-05-04"])
        #expect(story.keys("token-returned").count == 1)
        // The token may be used again.
        #expect(story.refusal("2026-05-06T00:30:00Z", .recover(b)) == nil)
    }

    @Test func `A returned token covers nothing any more`() throws {
        var story = try Story()
        try story.noon(1...3)
        try story.post(a, "2026-05-04T12:00:00Z")
        try story.at("2026-05-05T00:30:00Z", .recover(a))
        try story.post(b, "2026-05-05T03:00:00Z", captured: "2026-05-04T22:00:00Z")
        #expect(try story.settle("2026-05-06T00:00:00Z").missedDate == day("2026-05-05"))
    }

    @Test func `A late upload never breaks a streak by giving back a token that still keeps another date`()
        throws
    {
        // Kiritimati is 25 h ahead of Pago Pago: when 05-04 is over for both, a's 05-05 is over too.
        var story = try Story(.mutual, ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
        for date in 2...3 {
            try story.post(a, "2026-05-0\(date)T05:00:00Z")
            try story.post(b, "2026-05-0\(date)T20:00:00Z")
        }
        try story.post(a, "2026-05-04T05:00:00Z")
        #expect(try story.at("2026-05-05T11:30:00Z", .recover(a)).status == .active)
        let state = try story.post(b, "2026-05-05T12:00:00Z", captured: "2026-05-05T10:00:00Z")
        #expect(state.mark(on: day("2026-05-04")) == .complete)
        #expect(state.tokensReturned == 0 && state.tokensInUse == 1)
        #expect(try story.settle("2026-05-06T11:00:00Z").status == .active)
    }

    @Test func `An outage declared days later does not leave the dates in between as missed`() throws {
        var story = try Story()
        try story.noon(1...3)
        try story.post(a, "2026-05-04T12:00:00Z")
        #expect(try story.settle("2026-05-06T18:00:00Z").status == .broken)
        let outage = StreakCommand.declareOutage(from: moment("2026-05-04T20:00:00Z"), until: moment("2026-05-04T23:00:00Z"))
        var state = try story.at("2026-05-06T18:00:00Z", outage)
        #expect(state.status == .active && state.count == 3)
        #expect(state.mark(on: day("2026-05-05")) == .neutral)
        #expect(story.keys("restored") == ["restored:2026-05-04"])
        // Six hours were left of 05-06: too few to count as missed; 05-07 counts again.
        state = try story.settle("2026-05-07T00:00:00Z")
        #expect(state.mark(on: day("2026-05-06")) == .neutral)
        #expect(try story.settle("2026-05-08T00:00:00Z").missedDate == day("2026-05-07"))
    }

    @Test func `An outage over two dates saves both`() throws {
        var story = try Story()
        try story.noon(1...3)
        let outage = StreakCommand.declareOutage(from: moment("2026-05-04T20:00:00Z"), until: moment("2026-05-05T03:00:00Z"))
        let state = try story.at("2026-05-06T01:00:00Z", outage)
        #expect(state.status == .active && state.count == 3)
        #expect(state.mark(on: day("2026-05-04")) == .neutral && state.mark(on: day("2026-05-05")) == .neutral)
    }

    @Test func `One outage declared twice counts once; two short ones add up`() throws {
        for (second, status) in [("2026-05-04T10:00:00Z", StreakState.Status.broken), ("2026-05-04T15:00:00Z", .active)] {
            var story = try Story()
            try story.noon(1...3)
            for from in ["2026-05-04T10:00:00Z", second] {
                try story.at("2026-05-04T20:00:00Z", .declareOutage(from: moment(from), until: moment(from) + .minutes(90)))
            }
            #expect(try story.settle("2026-05-05T00:00:00Z").status == status)
        }
    }

    @Test func `Milestones once a run, tokens at every multiple of 30 (MS-6, RC-1)`() throws {
        var story = try Story()
        var time = moment("2026-05-01T12:00:00Z")
        for _ in 0..<61 {
            for user in [a, b] { try story.post(user, time.description) }
            time = time + .days(1)
        }
        #expect(story.keys("milestone") == [7, 14, 30, 50].map { "milestone:2026-05-01:\($0)" })
        #expect(story.keys("token-earned") == [30, 60].map { "token-earned:2026-05-01:\($0)" })
        #expect(story.keys("completed").count == 61)
        #expect(Set(story.emitted.map(\.key)).count == story.emitted.count)
    }

    @Test(arguments: [(0, 7), (7, 14), (200, 365), (364, 365), (365, 400), (399, 400), (400, 500), (1_000, 1_100)])
    func `The next milestone`(count: Int, next: Int) {
        #expect(Milestones.mutual.next(after: count) == next)
        #expect(Milestones.mutual.contains(next))
    }

    @Test(arguments: [false, true]) func `Unfriending and deletion in mid-day: ended by no member, emitted once`(afterBreak: Bool)
        throws
    {
        var story = try Story()
        try story.noon(1...2)
        let time = afterBreak ? "2026-05-04T10:00:00Z" : "2026-05-03T10:00:00Z"
        let state = try story.at(time, .end)
        #expect(state.status == .ended && state.brokenBy == nil && state.deadlineAt == nil && state.nextDue == nil)
        try story.at("2026-05-09T10:00:00Z", .end)
        #expect(story.keys("ended") == ["ended"])
        #expect(story.refusal("2026-05-09T10:00:00Z", .recover(a)) == "STREAK_NOT_BROKEN")
    }

    @Test func `A change that ends a streak says what it counted, unless a break came before`() throws {
        func counted(_ story: Story, _ time: String, settledAt: Instant?) throws -> Int {
            let end = StreakCommand.endWithAccount(of: a, at: moment(time))
            return try story.ledger.applying(end, .mutual, at: moment(time), settledAt: settledAt).endedCount
        }
        var story = try Story()
        #expect(try counted(story, "2026-05-01T10:00:00Z", settledAt: story.settledAt) == 0, "it had not begun to count")
        try story.noon(1...2)
        #expect(try counted(story, "2026-05-03T10:00:00Z", settledAt: story.settledAt) == 2)
        #expect(try counted(story, "2026-05-04T10:00:00Z", settledAt: story.settledAt) == 0, "the break is due")
        try story.settle("2026-05-04T10:00:00Z")
        #expect(try counted(story, "2026-05-04T10:00:00Z", settledAt: story.settledAt) == 0, "it is broken")
        try story.at("2026-05-04T11:00:00Z", .recover(b))
        #expect(try counted(story, "2026-05-04T12:00:00Z", settledAt: story.settledAt) == 2, "a token undid the break")
        try story.at("2026-05-04T12:00:00Z", .end)
        #expect(try counted(story, "2026-05-04T13:00:00Z", settledAt: story.settledAt) == 0, "it had ended")
    }
}
