import Kernel
import StreaksDomain
import Testing

/// Check-in and typed streaks: everything that decides a verdict lies dated in the ledger (SD-5).
@Suite struct SoloTests {
    let a = Story.a
    private let one = OperationID(high: 5, low: 1)
    private let two = OperationID(high: 5, low: 2)

    private func checkIn(freezes: Int = 0, _ days: ClosedRange<Int>? = nil) throws -> Story {
        var story = try Story(.checkIn, ["UTC"], freezes: freezes)
        if let days { try story.noon(days) }
        return story
    }

    @Test func `A freeze bought after a date's end does not serve it by itself, but by hand for a day (CI-2)`() throws {
        var story = try checkIn(1...3)
        try story.at("2026-05-05T00:00:00Z", .grantFreezes(1, id: one))
        var state = try story.settle("2026-05-05T09:00:00Z")
        #expect(state.status == .broken && state.missedDate == day("2026-05-04") && state.freezesLeft == 1)
        #expect(story.refusal("2026-05-06T00:00:01Z", .freeze(day("2026-05-05"))) == "FREEZE_NOT_NEEDED", "the count is 0")
        let before = story
        try story.at("2026-05-05T10:00:00Z", .freeze(day("2026-05-04")))
        state = try story.post(a, "2026-05-05T12:00:00Z")
        #expect(state.count == 5 && state.mark(on: day("2026-05-04")) == .frozen && state.freezesLeft == 0)
        #expect(state.lastBreak == nil && story.keys("restored") == ["restored:2026-05-04"])
        #expect(story.keys("freeze-spent") == ["freeze-spent:2026-05-04"])
        // Once: there is none left, and the date needs none.
        #expect(story.refusal("2026-05-05T13:00:00Z", .freeze(day("2026-05-04"))) == "NO_FREEZES_AVAILABLE")
        // Not used, it serves the next missed date.
        story = before
        try story.post(a, "2026-05-05T12:00:00Z")
        state = try story.settle("2026-05-07T00:00:00Z")
        #expect(state.mark(on: day("2026-05-06")) == .frozen && state.count == 2)
    }

    @Test
    func
        `A freeze by hand for yesterday: not after 24 hours, not where something else keeps the date, back when it was done after all`()
        throws
    {
        // The local date of yesterday may have ended more than 24 h ago: by travel east.
        var story = try Story(.checkIn, ["Pacific/Honolulu"], from: "2026-05-01T20:00:00Z")
        for day in 1...3 { try story.post(a, story.may(day, "20:00:00")) }
        try story.settle("2026-05-05T10:01:00Z")
        try story.at("2026-05-05T11:00:00Z", .grantFreezes(2, id: one))
        let (missed, end) = (day("2026-05-04"), "2026-05-06T10:00:00Z")
        #expect(story.refusal(end, .freeze(missed)) == "VALIDATION_ERROR", "the day before yesterday")
        try story.at("2026-05-05T12:00:00Z", .changeZone(a, try #require(Zone("Pacific/Pago_Pago"))))
        #expect(story.refusal(end, .freeze(missed)) == nil)
        #expect(story.refusal("2026-05-06T10:00:01Z", .freeze(missed)) == "FREEZE_TOO_LATE")
        // Completed late after all: the freeze is in hand again.
        try story.at("2026-05-05T13:00:00Z", .freeze(missed))
        #expect(try story.settle("2026-05-05T13:00:01Z").freezesLeft == 1)
        let received = moment("2026-05-05T09:30:00Z")
        let state = try story.at("2026-05-05T13:01:00Z", .contribute(a, receivedAt: received, capturedAt: nil))
        #expect(state.mark(on: missed) == .complete && state.freezesLeft == 2 && state.count == 4)
        #expect(story.keys("freeze-returned") == ["freeze-returned:2026-05-04"])

        var shielded = try checkIn(1...3)
        try shielded.at("2026-05-03T12:00:00Z", .protect(.shield, until: nil, id: two))
        try shielded.at("2026-05-05T08:00:00Z", .grantFreezes(1, id: one))
        #expect(shielded.refusal("2026-05-05T09:00:00Z", .freeze(day("2026-05-04"))) == "FREEZE_NOT_NEEDED")

        var stopped = try checkIn(1...3)
        try stopped.at("2026-05-04T12:00:00Z", .breakOff(by: a))
        try stopped.at("2026-05-05T08:00:00Z", .grantFreezes(1, id: one))
        #expect(stopped.refusal("2026-05-05T09:00:00Z", .freeze(day("2026-05-04"))) == "STREAK_NOT_ACTIVE")
    }

    @Test func `A freeze that was paid for before a date's end serves it, however late it is granted (SD-5)`() throws {
        let paid = moment("2026-05-04T23:59:59Z")
        for granted in ["2026-05-05T00:00:10Z", "2026-05-06T07:00:00Z"] {
            var story = try checkIn(1...3)
            try story.settle("2026-05-05T00:00:00Z")
            #expect(story.keys("broken") == ["broken:2026-05-04"])
            try story.post(a, "2026-05-05T00:00:05Z")
            let state = try story.at(granted, .grantFreezes(1, id: one, obtainedAt: paid))
            #expect(state.status == .active && state.count == 5 && state.freezesLeft == 0, "\(granted)")
            #expect(state.mark(on: day("2026-05-04")) == .frozen)
            #expect(story.keys("restored") == ["restored:2026-05-04"])
            #expect(story.keys("freeze-spent") == ["freeze-spent:2026-05-04"])
            // As if it had come in time.
            var early = try checkIn(1...3)
            try early.at("2026-05-04T23:59:59Z", .grantFreezes(1, id: one))
            try early.post(a, "2026-05-05T00:00:05Z")
            let later = "2026-05-06T08:00:00Z"
            #expect(try story.settle(later) == early.settle(later))
            #expect(story.emitted.filter { $0.key.hasPrefix("completed") }.count == 4)
        }
    }

    @Test func `What was paid for at the end of a date or after it, or long ago, does not serve it`() throws {
        for (paid, granted) in [
            ("2026-05-05T00:00:00Z", "2026-05-05T00:00:10Z"), ("2026-05-05T09:00:00Z", "2026-05-05T09:00:00Z"),
            ("2026-05-04T12:00:00Z", "2026-05-08T00:00:01Z"), ("2027-01-01T00:00:00Z", "2026-05-05T00:00:10Z"),
        ] {
            var story = try checkIn(1...3)
            let state = try story.at(granted, .grantFreezes(1, id: one, obtainedAt: moment(paid)))
            #expect(state.status == .broken && state.missedDate == day("2026-05-04") && state.freezesLeft == 1, "\(paid)")
        }
        // Before there was a streak.
        var story = try checkIn(1...1)
        let state = try story.at("2026-05-01T13:00:00Z", .grantFreezes(1, id: one, obtainedAt: moment("2026-04-30T00:00:00Z")))
        #expect(state.freezesLeft == 1)
        #expect(try story.settle("2026-05-03T00:00:00Z").mark(on: day("2026-05-02")) == .frozen)
    }

    @Test func `Bought freezes are refused above five, and a repeat changes nothing`() throws {
        var story = try checkIn(freezes: 3, 1...1)
        #expect(story.refusal("2026-05-01T13:00:00Z", .grantFreezes(5, id: one)) == "MAX_FREEZES_REACHED")
        for _ in 1...2 { #expect(try story.at("2026-05-01T13:00:00Z", .grantFreezes(2, id: one)).freezesLeft == 5) }
        // Today's is set aside and may come back: the hand is as full as before.
        try story.settle("2026-05-02T00:00:00Z")
        #expect(try story.at("2026-05-02T08:00:00Z", .freeze(day("2026-05-02"))).freezesLeft == 4)
        #expect(story.refusal("2026-05-02T08:00:01Z", .grantFreezes(1, id: two)) == "MAX_FREEZES_REACHED")
    }

    @Test func `A bought freeze is not lost when a spent one comes back`() throws {
        var story = try checkIn(freezes: 5, 1...2)
        #expect(try story.settle("2026-05-04T00:30:00Z").freezesLeft == 4)
        try story.at("2026-05-04T01:00:00Z", .grantFreezes(1, id: one))
        let state = try story.post(a, "2026-05-04T02:00:00Z", captured: "2026-05-03T23:00:00Z")
        #expect(state.freezesLeft == 6 && state.count == 3)
        #expect(story.keys("freeze-returned") == ["freeze-returned:2026-05-03"])
    }

    @Test func `Milestone freezes come once in the life of a streak (CI-5)`() throws {
        var story = try checkIn(1...7)
        #expect(try story.settle("2026-05-07T13:00:00Z").freezesLeft == 2)
        // 8 and 9 are frozen, 10 breaks; the next seven dates bring only the run's.
        #expect(try story.settle("2026-05-11T00:00:00Z").status == .broken)
        try story.noon(11...17)
        #expect(try story.settle("2026-05-17T13:00:00Z").freezesLeft == 1)
        let first = story.emitted.compactMap { effect -> Bool? in
            if case .milestone(7, _, _, let isFirst) = effect { isFirst } else { nil }
        }
        #expect(first == [true, false])
    }

    @Test func `A change of plan refolds nothing: what was earned stays, what comes is by the new plan (named point 1)`() throws {
        var story = try checkIn()
        try story.at("2026-05-01T08:00:00Z", .changePlan(a, isPremium: true))
        try story.noon(1...5)
        #expect(try story.settle("2026-05-05T13:00:00Z").freezesLeft == 1)
        try story.at("2026-05-05T14:00:00Z", .changePlan(a, isPremium: false))
        try story.noon(6...6)
        #expect(try story.settle("2026-05-06T13:00:00Z").freezesLeft == 1)
        try story.noon(7...10)
        // 7 by the run and by the milestone; 10 is no multiple of 7.
        #expect(try story.settle("2026-05-10T13:00:00Z").freezesLeft == 3)
    }

    @Test func `A plan that ends by itself is known to end`() throws {
        var story = try checkIn()
        try story.at("2026-05-01T08:00:00Z", .changePlan(a, isPremium: true, until: moment("2026-05-05T12:00:00Z")))
        try story.noon(1...5)
        #expect(try story.settle("2026-05-05T13:00:00Z").freezesLeft == 0)
    }

    @Test(arguments: [StreakPolicy.checkIn, .typed])
    func `First activities that cross midnight count whichever is recorded first`(policy: StreakPolicy) throws {
        let received = ["2026-05-01T23:59:58Z", "2026-05-02T00:00:03Z", "2026-05-03T00:00:01Z"]
        for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [2, 0, 1]] {
            var story = try Story(policy, ["UTC"], from: received[order[0]], freezes: policy.freezes == nil ? 0 : 1)
            for index in order {
                try story.at("2026-05-03T00:00:05Z", .contribute(a, receivedAt: moment(received[index]), capturedAt: nil))
            }
            let state = try story.settle("2026-05-03T12:00:00Z")
            #expect(state.count == 3 && state.runStart == day("2026-05-01"), "\(order)")
            #expect(state.longest == 3 && story.ledger.start == moment(received[0]))
            #expect(Set(story.keys("completed")) == Set((1...3).map { "completed:2026-05-0\($0)" }), "\(order)")
        }
    }

    @Test func `What lies further before the start than its date, or was received after it, moves nothing`() throws {
        var story = try Story(.typed, ["UTC"], from: "2026-05-03T08:00:00Z")
        try story.post(a, "2026-05-03T08:00:00Z")
        try story.at("2026-05-03T09:00:00Z", .contribute(a, receivedAt: moment("2026-05-01T23:00:00Z"), capturedAt: nil))
        var state = try story.settle("2026-05-03T09:00:01Z")
        #expect(state.count == 1 && story.ledger.start == moment("2026-05-03T08:00:00Z") && state.status == .active)
        // A clock that is set west of the date line shows the date before.
        try story.at("2026-05-03T09:30:00Z", .changeZone(a, try #require(Zone("Pacific/Pago_Pago"))))
        state = try story.post(a, "2026-05-03T09:31:00Z")
        #expect(state.count == 1 && state.runStart == day("2026-05-03"))
    }

    @Test func `A start that moves back behind a checkpoint asks for the whole ledger`() throws {
        var story = try Story(.typed, ["UTC"], from: "2026-05-02T00:00:03Z")
        try story.noon(2...9)
        let short = story.ledger.compacted(.typed, at: moment("2026-05-09T12:00:00Z"))
        let late = StreakCommand.contribute(a, receivedAt: moment("2026-05-01T23:59:58Z"), capturedAt: nil)
        let error = #expect(throws: ServiceError.self) { try short.applying(late, .typed, at: moment("2026-05-09T12:00:01Z")) }
        #expect(error == .ledgerTooShort)
        #expect(try story.at("2026-05-09T12:00:01Z", late).count == 9)
    }

    @Test func `Between two pauses lies one check-in (CI-1)`() throws {
        var story = try checkIn(1...3)
        try story.at("2026-05-04T08:00:00Z", .pause(until: day("2026-05-10")))
        #expect(story.keys("paused").count == 1)
        #expect(story.ledger.participants.count == 1)
        // It is due when the pause ends, so that the user is notified.
        #expect(try story.settle("2026-05-05T08:00:00Z").nextDue == moment("2026-05-10T00:00:00Z"))
        try story.settle("2026-05-10T00:01:00Z")
        #expect(story.keys("pause-ended").count == 1)
        #expect(story.refusal("2026-05-10T08:00:00Z", .pause(until: day("2026-05-20"))) == "PAUSE_NEEDS_CHECK_IN")
        try story.post(a, "2026-05-10T12:00:00Z")
        #expect(story.refusal("2026-05-10T13:00:00Z", .pause(until: day("2026-05-20"))) == nil)
    }

    @Test func `Of two pauses around midnight the first counts, whichever is applied first (SD-5)`() throws {
        let (early, late) = (moment("2026-05-04T23:59:59Z"), moment("2026-05-05T00:00:01Z"))
        let first = StreakCommand.pause(until: day("2026-05-10"), receivedAt: early)
        let second = StreakCommand.pause(until: day("2026-05-12"), receivedAt: late)
        var inOrder = try checkIn(1...3)
        try inOrder.at("2026-05-05T00:00:02Z", first)
        #expect(inOrder.refusal("2026-05-05T00:00:02Z", second) == "ALREADY_PAUSED")
        var turned = try checkIn(1...3)
        try turned.at("2026-05-05T00:00:02Z", second)
        let state = try turned.at("2026-05-05T00:00:03Z", first)
        #expect(state.count == 3 && turned.ledger.pauses.map(\.from) == [day("2026-05-04")])
        // The later end: it was said to a device.
        #expect(turned.ledger.pauses.map(\.until) == [day("2026-05-12")])
        #expect(turned.refusal("2026-05-05T08:00:00Z", second) == "ALREADY_PAUSED")
        #expect(try turned.settle("2026-05-11T12:00:00Z").count == 3)
    }

    @Test func `A pause that ends where one begins that was applied first is joined with it, whatever its length (SD-5)`() throws
    {
        let (early, late) = (moment("2026-05-04T23:59:59Z"), moment("2026-05-05T00:00:01Z"))
        var story = try checkIn(1...3)
        try story.at("2026-05-05T00:00:02Z", .pause(until: day("2026-08-03"), receivedAt: late))
        let state = try story.at("2026-05-05T00:00:03Z", .pause(until: day("2026-05-05"), receivedAt: early))
        #expect(state.count == 3 && story.ledger.pauses.map(\.from) == [day("2026-05-04")])
        #expect(story.ledger.pauses.map(\.until) == [day("2026-08-03")], "what a device was shown is not cut")
    }

    @Test func `A repair joins the run of before with that of since, and its cooldown is 30 days (CI-3)`() throws {
        var story = try checkIn(1...3)
        #expect(story.refusal("2026-05-03T13:00:00Z", .repair(a, id: one)) == "STREAK_NOT_BROKEN")
        #expect(try story.settle("2026-05-05T00:00:00Z").lastBreak?.count == 3)
        #expect(story.refusal("2026-05-05T01:00:00Z", .repair(a, id: one)) == "STREAK_TOO_SHORT")

        story = try Story(.checkInEarningNone, ["UTC"])
        try story.noon(1...8)
        try story.settle("2026-05-10T00:01:00Z")
        try story.post(a, "2026-05-10T09:00:00Z")
        #expect(story.refusal("2026-05-11T00:00:01Z", .repair(a, id: one)) == "REPAIR_WINDOW_EXPIRED")
        var state = try story.at("2026-05-10T10:00:00Z", .repair(a, id: one))
        #expect(state.count == 9 && state.status == .active && state.mark(on: day("2026-05-09")) == .covered)
        #expect(story.keys("restored") == ["restored:2026-05-09"])
        state = try story.settle("2026-05-12T00:00:00Z")
        #expect(state.status == .broken)
        #expect(story.refusal("2026-05-12T01:00:00Z", .repair(a, id: two)) == "REPAIR_COOLDOWN_ACTIVE")
    }

    @Test func `A repair comes back when the date completes late after all, and the cooldown is clear (CI-3)`() throws {
        var story = try Story(.checkInEarningNone, ["UTC"])
        try story.noon(1...8)
        try story.at("2026-05-10T01:00:00Z", .repair(a, id: one))
        let state = try story.post(a, "2026-05-10T03:00:00Z", captured: "2026-05-09T23:00:00Z")
        #expect(state.count == 9 && story.ledger.lastRepair(by: state.asOf) == nil)
        let returned = story.emitted.contains { effect in
            if case .coverReturned(_, .repair, a, one, _) = effect { true } else { false }
        }
        #expect(returned)
    }

    @Test func `A time machine fills a missed date when the runs join, also behind the checkpoint (TS-3)`() throws {
        var policy = StreakPolicy.typed
        policy.freeDatesPerMonth = nil
        var story = try Story(policy, ["UTC"])
        try story.noon(1...4)
        try story.noon(6...11)
        let short = story.ledger.compacted(policy, at: moment("2026-05-11T13:00:00Z"))
        let now = moment("2026-05-11T13:00:00Z")
        #expect(throws: ServiceError.ledgerTooShort) {
            try short.applying(.fill(day("2026-05-05"), by: a, id: one), policy, at: now)
        }
        #expect(story.refusal("2026-05-11T13:00:00Z", .fill(day("2026-05-04"), by: a, id: one)) == "DATE_NOT_MISSED")
        let state = try story.at("2026-05-11T13:00:00Z", .fill(day("2026-05-05"), by: a, id: one))
        #expect(state.count == 11 && state.mark(on: day("2026-05-05")) == .filled)
        #expect(story.keys("filled") == ["filled:2026-05-05"])
    }

    @Test func `A time machine is refused when another date is missing (TS-3)`() throws {
        var story = try Story(.checkInEarningNone, ["UTC"])
        try story.noon(1...4)
        try story.noon(7...8)
        #expect(story.refusal("2026-05-08T13:00:00Z", .fill(day("2026-05-05"), by: a, id: one)) == "RUNS_DO_NOT_JOIN")
        #expect(story.refusal("2026-05-08T13:00:00Z", .fill(day("2026-04-30"), by: a, id: one)) == "VALIDATION_ERROR")
    }

    @Test func `A shield is spent last and comes back when the date completes late (TS-3)`() throws {
        var story = try Story(.checkInEarningNone, ["UTC"], freezes: 1)
        try story.noon(1...3)
        #expect(story.refusal("2026-05-03T13:00:00Z", .protect(.insurance, until: nil, id: one)) == "PROTECTION_NOT_ALLOWED")
        try story.at("2026-05-03T13:00:00Z", .protect(.shield, until: nil, id: one))
        var state = try story.settle("2026-05-05T00:01:00Z")
        #expect(state.mark(on: day("2026-05-04")) == .frozen && state.protections.count == 1)
        state = try story.settle("2026-05-06T00:01:00Z")
        #expect(state.mark(on: day("2026-05-05")) == .covered && state.protections.isEmpty && state.count == 4)
        state = try story.post(a, "2026-05-06T03:00:00Z", captured: "2026-05-05T23:00:00Z")
        #expect(state.protections.count == 1 && state.count == 5)
        #expect(story.keys("shield-returned").count == 1)
    }

    @Test func `Several shields cover a break each, however late it is settled (TS-3)`() throws {
        var story = try Story(.checkInEarningNone, ["UTC"])
        try story.noon(1...3)
        for id in [one, two] { try story.at("2026-05-03T13:00:00Z", .protect(.shield, until: nil, id: id)) }
        let kept = try story.settle("2026-05-06T12:00:00Z")
        #expect(
            [4, 5].allSatisfy { kept.mark(on: day("2026-05-0\($0)")) == .covered } && kept.count == 3 && kept.protections.isEmpty
        )
        #expect(story.keys("shield-spent").count == 2)
        #expect(try story.settle("2026-05-07T00:01:00Z").count == 0)
    }

    @Test func `A shield whose purchase is refunded ends then, and a spent one stays spent (BI-5)`() throws {
        var story = try Story(.checkInEarningNone, ["UTC"])
        try story.noon(1...3)
        for id in [one, two] { try story.at("2026-05-03T13:00:00Z", .protect(.shield, until: nil, id: id)) }
        try story.settle("2026-05-05T00:01:00Z")
        let taken = try story.at("2026-05-05T08:00:00Z", .takeShields(2))
        #expect(taken.count == 3 && taken.protections.isEmpty && taken.mark(on: day("2026-05-04")) == .covered)
        #expect(try story.settle("2026-05-06T00:01:00Z").count == 0)
    }

    @Test func `An insurance keeps only dates that are over inside its validity (TS-3)`() throws {
        var policy = StreakPolicy.typed
        policy.freeDatesPerMonth = nil
        var story = try Story(policy, ["UTC"])
        try story.noon(1...3)
        try story.at("2026-05-03T13:00:00Z", .protect(.insurance, until: moment("2026-05-05T00:00:00Z"), id: one))
        #expect(try story.settle("2026-05-05T00:01:00Z").status == .broken)
    }

    @Test func `Typed: one free date a month, premium four and an insurance once in seven dates (TS-3)`() throws {
        var free = try Story(.typed, ["UTC"])
        try free.noon(1...3)
        #expect(try free.settle("2026-05-05T00:01:00Z").mark(on: day("2026-05-04")) == .neutral)
        #expect(free.keys("free-date") == ["free-date-used:2026-05-04"])
        #expect(try free.settle("2026-05-06T00:01:00Z").status == .broken)

        var premium = try Story(.typed, ["UTC"])
        try premium.at("2026-05-01T08:00:00Z", .changePlan(a, isPremium: true))
        try premium.noon(1...3)
        #expect(try premium.settle("2026-05-09T00:01:00Z").mark(on: day("2026-05-08")) == .covered)
        #expect(try premium.settle("2026-05-10T00:01:00Z").missedDate == day("2026-05-09"))
    }

    @Test func `A moderator's break ends the run; after it another begins (SO-9)`() throws {
        var story = try checkIn(freezes: 3, 1...3)
        var state = try story.at("2026-05-04T09:00:00Z", .breakOff(by: a))
        #expect(state.status == .broken && state.count == 0 && state.freezesLeft == 3 && state.lastBreak == nil)
        #expect(
            story.refusal("2026-05-04T10:00:00Z", .contribute(a, receivedAt: moment("2026-05-04T10:00:00Z"), capturedAt: nil))
                == "STREAK_NOT_ACTIVE"
        )
        state = try story.post(a, "2026-05-12T09:00:00Z")
        #expect(state.count == 1 && state.longest == 3)
        try story.at("2026-05-13T09:00:00Z", .breakOff(by: a))
        #expect(try story.settle("2026-05-20T09:00:00Z").count == 0)
        #expect(story.keys("broken").count == 2 && story.keys("restored").isEmpty)
    }

    @Test func `Who joins a team counts from the next date, and who leaves takes no complete date away (TS-4)`() throws {
        var team = try Story(.team, ["UTC", "UTC", "UTC"])
        let (b, c, late) = (Story.b, UserID(high: 1, low: 3), UserID(high: 1, low: 4))
        for user in [a, b] { try team.post(user, "2026-05-01T12:00:00Z") }
        try team.at("2026-05-01T13:00:00Z", .join(late, ZoneHistory(.utc)))
        #expect(try team.at("2026-05-01T14:00:00Z", .leave(b)).count == 1)
        #expect(
            team.refusal("2026-05-02T12:00:00Z", .contribute(b, receivedAt: moment("2026-05-02T12:00:00Z"), capturedAt: nil))
                == "NOT_A_MEMBER"
        )
        for user in [a, late] { try team.post(user, "2026-05-02T12:00:00Z") }
        #expect(try team.settle("2026-05-02T13:00:00Z").count == 2)
        // Alone a date is neutral.
        for user in [c, late] { try team.at("2026-05-03T08:00:00Z", .leave(user)) }
        #expect(try team.settle("2026-05-06T00:01:00Z").count == 2)
        try team.at("2026-05-06T08:00:00Z", .join(b, ZoneHistory(.utc)))
        #expect(try team.settle("2026-05-07T10:00:00Z").mark(on: day("2026-05-06")) == .neutral)
        for user in [a, b] { try team.post(user, "2026-05-07T12:00:00Z") }
        #expect(try team.settle("2026-05-07T13:00:00Z").count == 3)
    }

    @Test func `A team is notified when its grace begins (TS-4)`() throws {
        var team = try Story(.team)
        try team.noon(1...2)
        #expect(try team.settle("2026-05-03T10:00:00Z").nextDue == moment("2026-05-04T00:00:00Z"))
        let state = try team.settle("2026-05-04T00:01:00Z")
        #expect(state.graceDate == day("2026-05-03") && state.nextDue == moment("2026-05-04T12:00:00Z"))
        #expect(team.keys("grace-started") == ["grace-started:2026-05-03"])
    }
}
