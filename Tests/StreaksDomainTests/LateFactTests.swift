import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Plans, memberships, pauses and shields that are written after dates were settled without them (SD-5, SD-6).
@Suite struct LateFactTests {
    let a = Story.a

    @Test func `Premium bought before midnight and received after it keeps the date`() throws {
        var story = try Story(.typed, ["UTC"])
        for day in 1...3 { try story.post(a, story.may(day, "12:00:00")) }
        // The free date of the month goes to the fourth, the fifth breaks.
        try story.settle("2026-05-06T00:01:00Z")
        #expect(story.keys("broken") == ["broken:2026-05-05"])
        let state = try story.at("2026-05-06T00:02:00Z", .changePlan(a, isPremium: true, since: moment("2026-05-05T22:00:00Z")))
        #expect(state.count == 3 && state.mark(on: day("2026-05-05")) == .neutral && state.lastBreak == nil)
        #expect(story.keys("restored") == ["restored:2026-05-05"])
        var punctual = try Story(.typed, ["UTC"])
        for day in 1...3 { try punctual.post(a, punctual.may(day, "12:00:00")) }
        try punctual.at("2026-05-05T22:00:00Z", .changePlan(a, isPremium: true))
        var expected = fold(punctual.ledger, .typed, at: moment("2026-05-20T00:00:00Z"))
        let late = fold(story.ledger, .typed, at: moment("2026-05-20T00:00:00Z"))
        expected.longest = late.longest
        #expect(late == expected)
    }

    @Test func `A restore that was paid for a break which the plan had prevented comes back`() throws {
        var story = try Story(.typed, ["UTC"])
        for day in 1...8 { try story.post(a, story.may(day, "12:00:00")) }
        try story.settle("2026-05-11T00:01:00Z")
        try story.at("2026-05-11T00:05:00Z", .repair(a, id: OperationID(high: 1, low: 1)))
        let state = try story.at("2026-05-11T00:06:00Z", .changePlan(a, isPremium: true, since: moment("2026-05-10T22:00:00Z")))
        #expect(state.count == 8 && story.keys("cover-returned").count == 1)
        #expect(state.mark(on: day("2026-05-10")) == .neutral)
    }

    @Test func `A member who left before midnight is missed by no one, whenever that is received`() throws {
        var story = try Story(.team, Array(repeating: "UTC", count: 4))
        let users = story.ledger.participants.map(\.user)
        for user in users { try story.post(user, "2026-05-01T12:00:00Z") }
        for user in users.prefix(2) { try story.post(user, "2026-05-02T12:00:00Z") }
        // Two of four are too few, also at the end of the grace.
        let broken = try story.settle("2026-05-03T12:00:00Z")
        #expect(broken.count == 0 && story.keys("broken").count == 1)
        let state = try story.at("2026-05-03T12:01:00Z", .leave(users[3], at: moment("2026-05-02T20:00:00Z")))
        #expect(state.count == 2 && state.mark(on: day("2026-05-02")) == .complete, "two of three are enough")
        #expect(story.keys("restored").count == 1)
    }

    @Test func `A member who joined before midnight counts from the next date, whenever that is received`() throws {
        func team(joined: String, heard: String) throws -> StreakState {
            var story = try Story(.team, ["UTC", "UTC"])
            let (users, new) = (story.ledger.participants.map(\.user), UserID(high: 1, low: 9))
            for user in users { try story.post(user, "2026-05-01T12:00:00Z") }
            try story.settle("2026-05-02T00:01:00Z")
            try story.at(heard, .join(new, ZoneHistory(.utc), at: moment(joined)))
            // All three are needed of three only if the new one counts: 60 % of three are two.
            try story.post(users[0], "2026-05-02T12:00:00Z")
            try story.post(new, "2026-05-02T13:00:00Z")
            return try story.settle("2026-05-02T14:00:00Z")
        }
        #expect(try team(joined: "2026-05-01T20:00:00Z", heard: "2026-05-02T08:00:00Z").count == 2)
        #expect(try team(joined: "2026-05-02T07:00:00Z", heard: "2026-05-02T08:00:00Z").count == 1)
    }

    @Test func `A pause and a shield that were received before midnight keep the date that was settled without them`() throws {
        func lost() throws -> Story {
            var story = try Story(.checkInEarningNone, ["UTC"])
            for day in 1...7 { try story.post(a, story.may(day, "12:00:00")) }
            try story.settle("2026-05-09T00:01:00Z")
            #expect(story.keys("broken").count == 1)
            return story
        }
        let received = moment("2026-05-08T23:59:59Z")
        var paused = try lost()
        let resting = try paused.at("2026-05-09T00:02:00Z", .pause(until: day("2026-05-20"), receivedAt: received))
        #expect(resting.count == 7 && resting.mark(on: day("2026-05-08")) == .neutral)
        #expect(paused.keys("restored").count == 1)

        var shielded = try lost()
        let id = OperationID(high: 1, low: 3)
        let kept = try shielded.at("2026-05-09T00:02:00Z", .protect(.shield, until: nil, id: id, receivedAt: received))
        #expect(kept.count == 7 && kept.mark(on: day("2026-05-08")) == .covered && kept.protections.isEmpty)

        var late = try lost()
        #expect(try late.at("2026-05-09T00:02:00Z", .protect(.shield, until: nil, id: id)).count == 0, "bought after the break")

        // The purchase is delivered when a new run has begun: the runs are one.
        var again = try lost()
        try again.post(a, "2026-05-09T12:00:00Z")
        let joined = try again.at("2026-05-10T08:00:00Z", .protect(.shield, until: nil, id: id, receivedAt: received))
        #expect(joined.count == 8 && joined.protections.isEmpty && again.keys("restored").count == 1)
    }
}
