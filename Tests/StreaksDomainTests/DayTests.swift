import Kernel
import StreaksDomain
import Testing

/// Dates that are not 24 h long, and what happens in the seconds around their ends (SD-1, SD-2, SD-4, SD-7).
@Suite struct DayTests {
    let a = Story.a
    let b = Story.b

    /// Two friends with a count of 1, completed in the middle of the date before.
    private func pair(_ zone: String, start: String) throws -> Story {
        var story = try Story(.mutual, [zone, zone], from: start)
        for user in [a, b] { try story.post(user, start) }
        #expect(story.keys("completed").count == 1)
        return story
    }

    /// The date is open until `end` and breaks the streak there, which is emitted once however often it is settled.
    private func ends(_ story: Story, _ date: String, at end: String, by: UserID?) throws {
        var story = story
        let instant = moment(end)
        #expect(fold(story.ledger, .mutual, at: instant - .seconds(1)).nextDue == instant, "due at its end")
        var state = try story.settle((instant - .seconds(1)).description)
        #expect(state.status == .active && state.openDate == day(date) && state.deadlineAt == instant && state.isAtRisk)
        #expect(story.keys("broken") == [])
        for later in [Interval.zero, .seconds(1), .seconds(60), .days(3)] {
            state = try story.settle((instant + later).description)
            #expect(state.status == .broken && state.missedDate == day(date) && state.brokenAt == instant)
            #expect(state.brokenBy == by && state.count == 1 && state.longest == 1)
        }
        #expect(story.keys("broken") == ["broken:\(date)"])
    }

    @Test func `A spring day of 23 hours ends an hour early by the sun (New York, 2026-03-08)`() throws {
        var story = try pair("America/New_York", start: "2026-03-07T17:00:00Z")
        // From midnight EST to midnight EDT.
        #expect(try story.post(a, "2026-03-08T05:00:00Z").mark(on: day("2026-03-08")) == .open)
        try ends(story, "2026-03-08", at: "2026-03-09T04:00:00Z", by: b)
        // In the hour that is not there nothing is lost either: 01:59:59 is followed by 03:00:00.
        let noHour = try story.post(b, "2026-03-08T07:00:00Z")
        #expect(noHour.lastCompletedDate == day("2026-03-08") && noHour.deadlineAt == moment("2026-03-10T04:00:00Z"))
    }

    @Test func `An autumn day of 25 hours is one date, its double hour too (New York, 2026-11-01)`() throws {
        var story = try pair("America/New_York", start: "2026-10-31T16:00:00Z")
        // 01:30 daylight time, and 01:30 again an hour later.
        try story.post(a, "2026-11-01T05:30:00Z")
        let again = StreakCommand.contribute(a, receivedAt: moment("2026-11-01T06:30:00Z"), capturedAt: nil)
        #expect(story.refusal("2026-11-01T06:30:00Z", again) == "ALREADY_POSTED")
        try ends(story, "2026-11-01", at: "2026-11-02T05:00:00Z", by: b)
        // The twenty-fifth hour counts.
        let state = try story.post(b, "2026-11-02T04:59:59Z")
        #expect(state.count == 2 && state.lastCompletedDate == day("2026-11-01"))
    }

    @Test func `A day that begins at one o'clock: the second before it is yesterday (Santiago, 2026-09-06)`() throws {
        var story = try pair("America/Santiago", start: "2026-09-05T15:00:00Z")
        let early = StreakCommand.contribute(a, receivedAt: moment("2026-09-06T03:59:59Z"), capturedAt: nil)
        #expect(story.refusal("2026-09-06T03:59:59Z", early) == "ALREADY_POSTED")
        #expect(try story.settle("2026-09-06T03:59:59Z").openDate == day("2026-09-06"), "yesterday is complete")
        let state = try story.post(a, "2026-09-06T04:00:00Z")
        #expect(state.openDate == day("2026-09-06"))
        try ends(story, "2026-09-06", at: "2026-09-07T03:00:00Z", by: b)
    }

    @Test func `Half an hour of saving time: a day of 24 and a half hours (Lord Howe, 2026-04-05)`() throws {
        var story = try pair("Australia/Lord_Howe", start: "2026-04-04T02:00:00Z")
        let early = StreakCommand.contribute(a, receivedAt: moment("2026-04-04T12:59:59Z"), capturedAt: nil)
        #expect(story.refusal("2026-04-04T12:59:59Z", early) == "ALREADY_POSTED")
        try story.post(a, "2026-04-04T13:00:00Z")
        try ends(story, "2026-04-05", at: "2026-04-05T13:30:00Z", by: b)
    }

    @Test func `The date that never was cannot be missed, the ones beside it can (Apia, 2011-12-30)`() throws {
        var story = try pair("Pacific/Apia", start: "2011-12-28T22:00:00Z")
        try story.post(a, "2011-12-29T22:00:00Z")
        // The 29th ends where the 31st begins; a snap of its last second that arrives later is its own.
        let state = try story.post(b, "2011-12-30T10:00:30Z", captured: "2011-12-30T09:59:59Z")
        #expect(state.status == .active && state.count == 2 && state.lastCompletedDate == day("2011-12-29"))
        #expect(state.mark(on: day("2011-12-30")) == .neutral && state.openDate == day("2011-12-31"))
        #expect(state.deadlineAt == moment("2011-12-31T10:00:00Z"))
        #expect(try story.settle("2011-12-31T09:59:59Z").status == .active)
        let broken = try story.settle("2011-12-31T10:00:00Z")
        #expect(broken.missedDate == day("2011-12-31") && broken.brokenBy == nil && broken.count == 2)
        #expect(story.keys("broken").last == "broken:2011-12-31")
    }

    @Test func `Partners at +14 and −11: 06-09 is settled at 2026-06-10T11:00Z, never earlier`() throws {
        var story = try Story(.mutual, ["Pacific/Kiritimati", "Pacific/Pago_Pago"], from: "2026-06-07T12:00:00Z")
        try story.post(a, "2026-06-07T12:00:00Z")
        try story.post(b, "2026-06-08T12:00:00Z")
        #expect(try story.settle("2026-06-08T12:00:00Z").lastCompletedDate == day("2026-06-08"))
        // In Kiritimati 06-09 lasts from 06-08T10:00Z to 06-09T10:00Z, in Pago Pago from 06-09T11:00Z to 06-10T11:00Z.
        try story.post(a, "2026-06-08T13:00:00Z")
        for hour in 0..<46 {
            let now = moment("2026-06-08T13:00:00Z") + .hours(Int64(hour))
            let state = try story.settle(now.description)
            #expect(state.status == .active && state.nextDue == moment("2026-06-10T11:00:00Z"), "\(now)")
        }
        try ends(story, "2026-06-09", at: "2026-06-10T11:00:00Z", by: b)
        // The last second of it is enough.
        #expect(try story.post(b, "2026-06-10T10:59:59Z").count == 2)
    }

    @Test(arguments: [false, true])
    func `A snap of 23:59:59 that is received at 00:00:30 counts, whether it was settled in between or not`(isSettled: Bool)
        throws
    {
        var story = try Story()
        try story.noon(1...2)
        try story.post(a, "2026-05-03T12:00:00Z")
        if isSettled { #expect(try story.settle("2026-05-04T00:00:00Z").status == .broken) }
        let state = try story.post(b, "2026-05-04T00:00:30Z", captured: "2026-05-03T23:59:59Z")
        #expect(state.status == .active && state.count == 3 && state.lastCompletedDate == day("2026-05-03"))
        #expect(story.keys("completed").last == "completed:2026-05-03")
        #expect(story.keys("broken").count == 1 && story.keys("restored").count == 1, "both are emitted or neither")
        // The new date is still free for both.
        for user in [a, b] { try story.post(user, "2026-05-04T00:01:00Z") }
        #expect(try story.settle("2026-05-04T00:01:00Z").count == 4)
    }

    @Test func `A late upload counts until six hours after the end of its date, and not a second longer`() throws {
        for (received, isInTime) in [
            ("2026-05-05T05:59:59Z", true), ("2026-05-05T06:00:00Z", true), ("2026-05-05T06:00:01Z", false),
        ] {
            var story = try Story()
            try story.noon(1...3)
            try story.post(a, "2026-05-04T12:00:00Z")
            try story.at("2026-05-05T00:30:00Z", .recover(a))
            let state = try story.post(b, received, captured: "2026-05-04T23:00:00Z")
            #expect(state.status == .active)
            #expect(state.count == (isInTime ? 4 : 3))
            #expect(state.mark(on: day("2026-05-04")) == (isInTime ? .complete : .covered))
            #expect(state.tokensReturned == (isInTime ? 1 : 0) && state.tokensInUse == (isInTime ? 0 : 1))
            #expect(story.keys("token-returned").count == (isInTime ? 1 : 0))
            #expect(story.ledger.hasContributed(b, on: day("2026-05-05"), known: moment(received)) == !isInTime)
        }
    }

    @Test(arguments: [
        "2026-05-02T00:13:00Z", "2026-05-02T00:13:01Z", "2026-05-04T23:58:00Z", "2569-05-01T12:00:00Z", "2025-05-01T12:00:00Z",
    ])
    func `A client's clock that is far off loses nothing: the time of receipt counts`(captured: String) throws {
        var story = try Story()
        let now = "2026-05-01T23:58:00Z"
        try story.post(a, now, captured: captured)
        #expect(story.ledger.hasContributed(a, on: day("2026-05-01"), known: moment(now)))
        #expect(!story.ledger.hasContributed(a, on: day("2026-05-02"), known: moment(now)))
    }

    @Test func `Two devices after midnight with yesterday's snap: one is yesterday's, the other today's, the third refused`()
        throws
    {
        var story = try Story()
        try story.noon(1...2)
        try story.post(a, "2026-05-03T12:00:00Z")
        let (received, captured) = ("2026-05-04T01:00:00Z", "2026-05-03T22:00:00Z")
        #expect(try story.post(b, received, captured: captured).lastCompletedDate == day("2026-05-03"))
        #expect(try story.post(b, received, captured: captured).count == 3)
        #expect(story.ledger.hasContributed(b, on: day("2026-05-04"), known: moment(received)))
        let third = StreakCommand.contribute(b, receivedAt: moment(received), capturedAt: moment(captured))
        #expect(story.refusal(received, third) == "ALREADY_POSTED")
        #expect(story.keys("restored") == ["restored:2026-05-03"])
    }

    @Test func `An outage over midnight excuses a date that lost more than two hours to it, however late it is declared`()
        throws
    {
        for (from, declared, isExcused) in [
            ("2026-05-03T22:00:00Z", "2026-05-04T02:00:00Z", false), ("2026-05-03T21:59:59Z", "2026-05-04T02:00:00Z", true),
            ("2026-05-03T21:59:59Z", "2026-05-09T02:00:00Z", true),
        ] {
            var story = try Story()
            try story.noon(1...2)
            try story.post(a, "2026-05-03T12:00:00Z")
            #expect(try story.settle("2026-05-04T00:00:00Z").brokenBy == b)
            // Of the fourth only an hour is lost.
            let state = try story.at(declared, .declareOutage(from: moment(from), until: moment("2026-05-04T01:00:00Z")))
            #expect(state.mark(on: day("2026-05-03")) == (isExcused ? .neutral : .missed))
            #expect(state.status == (isExcused ? .active : .broken) && state.count == 2)
            #expect(story.keys("restored") == (isExcused ? ["restored:2026-05-03"] : []))
            // Declared once more, it changes and emits nothing.
            let emitted = story.emitted
            try story.at(declared, .declareOutage(from: moment(from), until: moment("2026-05-04T01:00:00Z")))
            #expect(story.emitted == emitted)
        }
    }
}
