import Kernel
import StreaksDomain
import Testing

/// The same fold, other policies: nothing in the core knows of them.
@Suite struct PolicyTests {
    let a = Story.a

    @Test func `A weekday streak of one with freezes: weekends are neutral, a missed Monday is frozen, then it breaks`()
        throws
    {
        var policy = StreakPolicy.checkInEarningNone
        policy.schedule = .weekdays([1, 2, 3, 4, 5])
        // 2026-05-01 is a Friday.
        var story = try Story(policy, ["Europe/Berlin"], freezes: 1)
        try story.post(a, "2026-05-01T12:00:00Z")
        var state = try story.settle("2026-05-03T23:00:00Z")
        #expect(state.count == 1 && state.openDate == day("2026-05-04"))
        #expect(state.mark(on: day("2026-05-02")) == .neutral && state.mark(on: day("2026-05-03")) == .neutral)
        state = try story.settle("2026-05-05T10:00:00Z")
        #expect(state.mark(on: day("2026-05-04")) == .frozen && state.count == 2 && state.freezesLeft == 0)
        state = try story.settle("2026-05-06T10:00:00Z")
        #expect(state.status == .broken && state.missedDate == day("2026-05-05") && state.count == 0 && state.longest == 2)
        // On Friday evening the next deadline is Monday's.
        state = try story.post(a, "2026-05-08T12:00:00Z")
        #expect(state.status == .active && state.count == 1 && state.deadlineAt == moment("2026-05-11T22:00:00Z"))
        #expect(story.keys("freeze") == ["freeze-spent:2026-05-04"])
    }

    @Test func `Freezes are earned every seven dates and never more than five are in hand (CI-2)`() throws {
        var story = try Story(.checkIn, ["UTC"], freezes: 2)
        try story.noon(1...14)
        #expect(try story.settle("2026-05-14T13:00:00Z").freezesLeft == 5)
        // At 7 and at 14 the run brings one and the milestone one; the fourth finds the hand full.
        #expect(story.keys("freeze-earned").count == 4)
        let granted = story.emitted.map { effect in
            if case .freezeEarned(_, _, _, _, _, let granted) = effect { granted } else { 0 }
        }
        #expect(granted.reduce(0, +) == 3)
    }

    @Test func `A freeze by hand saves today and comes back when it was not needed (CI-2, SD-6)`() throws {
        var story = try Story(.checkInEarningNone, ["UTC"], freezes: 1)
        try story.noon(1...2)
        #expect(try story.at("2026-05-03T10:00:00Z", .freeze(day("2026-05-03"))).freezesLeft == 0)
        #expect(story.refusal("2026-05-03T10:00:01Z", .freeze(day("2026-05-03"))) == "NO_FREEZES_AVAILABLE")
        #expect(try story.post(a, "2026-05-03T12:00:00Z").freezesLeft == 1)
        #expect(story.refusal("2026-05-03T13:00:00Z", .freeze(day("2026-05-01"))) == "VALIDATION_ERROR")
    }

    @Test func `A cover set by the service undoes a break (insurance, repair: CI-3, TS-3)`() throws {
        var policy = StreakPolicy.typed
        policy.freeDatesPerMonth = nil
        var story = try Story(policy, ["UTC"])
        try story.noon(1...5)
        #expect(try story.settle("2026-05-07T00:00:00Z").count == 0)
        story.ledger.recoveries.append(
            StreakLedger.Recovery(
                kind: .cover,
                user: nil,
                at: moment("2026-05-07T01:00:00Z"),
                from: day("2026-05-06"),
                through: day("2026-05-06")
            )
        )
        let state = try story.post(a, "2026-05-07T12:00:00Z")
        #expect(state.count == 6 && state.mark(on: day("2026-05-06")) == .covered)
    }

    @Test func `Pauses: refusals, auto-resume and early resume (CI-4)`() throws {
        var story = try Story(.checkInEarningNone, ["UTC"])
        try story.noon(1...3)
        #expect(story.refusal("2026-05-04T08:00:00Z", .pause(until: day("2026-08-03"))) == "PAUSE_TOO_LONG")
        #expect(story.refusal("2026-05-04T08:00:00Z", .pause(until: day("2026-08-02"))) == nil)
        #expect(story.refusal("2026-05-04T08:00:00Z", .resume) == "NOT_PAUSED")
        try story.at("2026-05-04T08:00:00Z", .pause(until: day("2026-05-20")))
        #expect(story.refusal("2026-05-05T08:00:00Z", .pause(until: day("2026-05-21"))) == "ALREADY_PAUSED")
        let state = try story.at("2026-05-06T08:00:00Z", .resume)
        #expect(state.count == 3 && state.deadlineAt == moment("2026-05-07T00:00:00Z"))
        #expect(try story.settle("2026-05-07T00:00:00Z").status == .broken)
        #expect(try Story().refusal("2026-05-02T00:00:00Z", .pause(until: day("2026-05-09"))) == "PAUSE_NOT_ALLOWED")
    }

    @Test func `A team: 60 % of the members, never fewer than 2`() throws {
        var story = try Story(.team, ["UTC", "UTC", "UTC", "UTC", "UTC"])
        let users = story.ledger.participants.map(\.user)
        for user in users.prefix(2) { try story.post(user, "2026-05-01T12:00:00Z") }
        #expect(try story.settle("2026-05-01T12:00:00Z").count == 0)
        #expect(try story.post(users[2], "2026-05-01T13:00:00Z").count == 1)
        #expect(try story.post(users[3], "2026-05-01T14:00:00Z").count == 1)
        var pair = try Story(.team, ["UTC", "UTC"])
        #expect(try pair.post(a, "2026-05-01T12:00:00Z").count == 0)
    }

    @Test func `A team's grace: twelve more hours once in seven dates`() throws {
        var story = try Story(.team)
        try story.noon(1...2)
        #expect(try story.settle("2026-05-04T11:59:59Z").status == .active)
        // In the grace a contribution counts for the missed date first, the next for today.
        try story.post(a, "2026-05-04T11:00:00Z")
        var state = try story.post(Story.b, "2026-05-04T11:30:00Z")
        #expect(state.count == 3 && state.lastCompletedDate == day("2026-05-03"))
        for user in [a, Story.b] { state = try story.post(user, "2026-05-04T11:45:00Z") }
        #expect(state.count == 4)
        state = try story.settle("2026-05-06T00:00:00Z")
        #expect(state.status == .broken && state.brokenAt == moment("2026-05-06T00:00:00Z"), "the grace is used up")
    }

    @Test func `What was received in a team's grace counts for the missed date, also when it is recorded after the grace (SD-5)`()
        throws
    {
        var story = try Story(.team)
        try story.noon(1...2)
        try story.post(a, "2026-05-04T11:00:00Z")
        #expect(try story.settle("2026-05-04T12:00:00Z").brokenAt == moment("2026-05-04T12:00:00Z"))
        let late = StreakCommand.contribute(Story.b, receivedAt: moment("2026-05-04T11:59:59Z"), capturedAt: nil)
        let state = try story.at("2026-05-04T15:00:00Z", late)
        #expect(state.count == 3 && state.lastCompletedDate == day("2026-05-03") && state.brokenAt == nil)
        // From then on the grace is over.
        #expect(try story.post(Story.b, "2026-05-04T16:00:00Z").days[day("2026-05-04")] == .open)
        #expect(try story.post(a, "2026-05-04T16:00:01Z").count == 4)
    }

    @Test func `What was received before a team's grace counts for its own date, also when it is recorded in the grace (SD-5)`()
        throws
    {
        var story = try Story(.team, ["UTC", "Asia/Tokyo"])
        try story.noon(1...2)
        // For b it is May 4 already, while a could still post for May 3.
        let early = StreakCommand.contribute(Story.b, receivedAt: moment("2026-05-03T23:00:00Z"), capturedAt: nil)
        #expect(try story.at("2026-05-04T01:00:00Z", early).graceDate == day("2026-05-03"))
        #expect(try story.post(a, "2026-05-04T02:00:00Z").count == 2)
        let state = try story.post(Story.b, "2026-05-04T03:00:00Z")
        #expect(state.count == 3 && state.lastCompletedDate == day("2026-05-03"))
        // May 4 has b's already.
        #expect(try story.post(a, "2026-05-04T04:00:00Z").count == 4)
    }

    @Test func `A member who joined later is not counted before`() throws {
        var story = try Story(.team)
        try story.noon(1...2)
        let late = UserID(high: 1, low: 9)
        story.ledger.participants.append(
            StreakLedger.Participant(
                late,
                zones: ZoneHistory(.utc),
                stays: [StreakLedger.Stay(joined: moment("2026-05-02T09:00:00Z"))]
            )
        )
        // Two of three are 60 % and more; before, two of two were needed and two there.
        for user in [a, late] { try story.post(user, "2026-05-03T12:00:00Z") }
        #expect(try story.settle("2026-05-03T12:00:00Z").count == 3)
    }

    @Test func `A habit three times a week counts weeks (HA-3)`() throws {
        // 2026-05-04 is a Monday.
        let habit = StreakPolicy(
            quorum: .everyone,
            schedule: .timesPerWeek(3),
            onBreak: .restart,
            milestones: .mutual
        )
        var story = try Story(habit, ["UTC"], from: "2026-05-04T08:00:00Z")
        for date in ["04", "06", "10", "11", "12", "16"] { try story.post(a, "2026-05-\(date)T12:00:00Z") }
        var state = try story.settle("2026-05-18T00:00:00Z")
        #expect(state.count == 2 && state.status == .active && state.deadlineAt == moment("2026-05-25T00:00:00Z"))
        try story.post(a, "2026-05-20T12:00:00Z")
        state = try story.settle("2026-05-25T00:00:00Z")
        #expect(state.status == .broken && state.brokenAt == moment("2026-05-25T00:00:00Z"))
    }

    @Test func `Schedules`() {
        #expect(Schedule.everyNthDate(3, from: day("2026-05-01")).includes(day("2026-05-07")))
        #expect(!Schedule.everyNthDate(3, from: day("2026-05-01")).includes(day("2026-05-08")))
        #expect(Schedule.daysOfMonth([31]).includes(day("2026-05-31")))
        #expect(!Schedule.daysOfMonth([31]).includes(day("2026-06-30")))
    }
}
