import Kernel
import StreaksDomain
import Testing

/// Users who change their zone: no date twice, and none lost to the flight (SD-3).
@Suite struct TravelTests {
    let a = Story.a
    let b = Story.b

    private func fly(_ story: inout Story, _ user: UserID, _ time: String, to zone: String) throws {
        try story.at(time, .changeZone(user, try #require(Zone(zone))))
    }

    private func refused(_ story: Story, _ user: UserID, _ time: String) -> String? {
        story.refusal(time, .contribute(user, receivedAt: moment(time), capturedAt: nil))
    }

    @Test func `Flying west: the clock shows a date twice, it counts one snap, and it ends where it ends the second time`()
        throws
    {
        var story = try Story(.mutual, ["Pacific/Auckland", "Pacific/Auckland"], from: "2026-05-01T00:00:00Z")
        for user in [a, b] { try story.post(user, "2026-05-01T01:00:00Z") }
        // 01:00 of the second in Auckland, then 04:00 of the first again in Honolulu.
        for user in [a, b] { try story.post(user, "2026-05-01T13:00:00Z") }
        try fly(&story, a, "2026-05-01T14:00:00Z", to: "Pacific/Honolulu")
        #expect(refused(story, a, "2026-05-01T14:00:00Z") == "ALREADY_POSTED", "the first, again")
        #expect(refused(story, a, "2026-05-02T10:00:00Z") == "ALREADY_POSTED", "the second, again")
        let state = try story.settle("2026-05-02T10:00:00Z")
        #expect(state.count == 2 && state.status == .active && state.openDate == day("2026-05-03"))
        #expect(state.deadlineAt == moment("2026-05-04T10:00:00Z"), "the third ends in Honolulu")
        try story.post(b, "2026-05-02T20:00:00Z")
        #expect(try story.post(a, "2026-05-04T09:59:59Z").count == 3)
        #expect(story.keys("completed").count == 3 && Set(story.emitted.map(\.key)).count == story.emitted.count)
    }

    @Test func `Flying east: a date seen for less than twelve hours is not missed, from twelve on it is`() throws {
        // In Honolulu the second begins at 10:00Z; in Auckland it is over.
        for (flight, isMissed) in [("2026-05-02T21:59:59Z", false), ("2026-05-02T22:00:00Z", true)] {
            var story = try Story(.mutual, ["Pacific/Honolulu", "Pacific/Honolulu"], from: "2026-05-01T10:00:00Z")
            for user in [a, b] { try story.post(user, "2026-05-01T20:00:00Z") }
            try story.post(b, "2026-05-02T20:00:00Z")
            try fly(&story, a, flight, to: "Pacific/Auckland")
            let end = moment("2026-05-03T10:00:00Z")
            #expect(try story.settle((end - .seconds(1)).description).status == .active, "b's date is not over")
            let state = try story.settle(end.description)
            #expect(state.status == (isMissed ? .broken : .active) && state.count == 1)
            #expect(state.mark(on: day("2026-05-02")) == (isMissed ? .missed : .neutral))
            #expect(state.brokenBy == (isMissed ? a : nil))
            #expect(story.keys("broken").count == (isMissed ? 1 : 0))
        }
    }

    @Test func `A flight excuses the one who flies, not the friend who stayed at home and missed`() throws {
        var story = try Story(.mutual, ["Pacific/Honolulu", "Pacific/Honolulu"], from: "2026-05-01T10:00:00Z")
        for user in [a, b] { try story.post(user, "2026-05-01T20:00:00Z") }
        try fly(&story, a, "2026-05-02T11:00:00Z", to: "Pacific/Auckland")
        #expect(try story.post(a, "2026-05-02T12:00:00Z").mark(on: day("2026-05-03")) == .open, "in Auckland it is the third")
        let state = try story.settle("2026-05-03T10:00:00Z")
        #expect(state.status == .broken && state.brokenBy == b && state.missedDate == day("2026-05-02"))
    }

    @Test func `A zone changed after posting keeps the snap's date and moves only what comes after`() throws {
        var story = try Story()
        try story.noon(1...1)
        try story.post(a, "2026-05-02T08:00:00Z")
        try fly(&story, a, "2026-05-02T09:00:00Z", to: "Asia/Tokyo")
        #expect(
            try story.settle("2026-05-02T09:00:00Z").deadlineAt == moment("2026-05-03T00:00:00Z"),
            "b's midnight is the later one"
        )
        #expect(refused(story, a, "2026-05-02T14:59:59Z") == "ALREADY_POSTED")
        try story.post(a, "2026-05-02T15:00:00Z")
        #expect(story.ledger.hasContributed(a, on: day("2026-05-03"), known: moment("2026-05-02T15:00:00Z")))
        #expect(try story.post(b, "2026-05-02T23:59:59Z").count == 2)
        #expect(try story.post(b, "2026-05-03T00:00:00Z").count == 3)
    }

    @Test func `Zones flipped back and forth by both to harvest dates: never more than the calendar has`() throws {
        var story = try Story()
        let zones = ["Pacific/Kiritimati", "UTC", "Pacific/Pago_Pago", "Pacific/Kiritimati", "UTC"]
        var now = moment("2026-05-01T11:00:00Z")
        for user in [a, b] { try story.post(user, "2026-05-01T10:30:00Z") }
        for round in 0..<20 {
            for user in [a, b] {
                try fly(&story, user, now.description, to: zones[round % zones.count])
                if refused(story, user, now.description) == nil { try story.post(user, now.description) }
            }
            let state = try story.settle(now.description)
            #expect(state.count <= 2, "the first and, in Kiritimati, the second of May; round \(round)")
            #expect(state.status == .active && state.longest == state.count)
            now = now + .minutes(1)
        }
        #expect(story.keys("completed").count == 2)
        // The harvested date is spent: on the real second of May there is nothing more to win.
        for user in [a, b] { #expect(refused(story, user, "2026-05-02T12:00:00Z") == "ALREADY_POSTED") }
        #expect(try story.settle("2026-05-02T12:00:00Z").count == 2)
    }

    @Test(arguments: 0..<40) func `A date is open until one's clock first shows a later one, and never again`(seed: Int) {
        // Newfoundland's clocks went from 00:01 back to 23:01 of the date before until 2011.
        let names = ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin", "Asia/Tokyo", "America/St_Johns", "UTC"]
        var zones = ZoneHistory(Zone(names[seed % names.count]) ?? .utc)
        var now = moment("2006-10-27T00:00:00Z")
        var newest = zones.date(at: now)
        for step in 1...3_000 {
            now = now + .minutes(1)
            newest = max(newest, zones.date(at: now))
            if step % (200 + 37 * (seed % 5)) == 0 {
                zones.change(to: Zone(names[(seed + step) % names.count]) ?? .utc, at: now)
                newest = max(newest, zones.date(at: now))
            }
            guard zones.openFrom(at: now) == newest else {
                Issue.record("at \(now) in \(zones.zone(at: now)): \(zones.openFrom(at: now)), not \(newest)")
                return
            }
        }
    }

    @Test func `A streak's date is open until it is over for both, whatever became of the streak`() throws {
        var story = try Story(.mutual, ["Pacific/Auckland", "Pacific/Honolulu"], from: "2026-05-01T13:00:00Z")
        func openFrom(_ time: String) -> CalendarDate { story.ledger.openFrom(at: moment(time)) }
        // In Auckland the second begins at 12:00Z of the first, in Honolulu at 10:00Z of the second.
        #expect(openFrom("2026-05-02T09:59:59Z") == day("2026-05-01"))
        #expect(openFrom("2026-05-02T10:00:00Z") == day("2026-05-02"))
        // Back over the date line: over is over.
        try fly(&story, a, "2026-05-02T10:30:00Z", to: "Pacific/Pago_Pago")
        try fly(&story, b, "2026-05-02T10:30:00Z", to: "Pacific/Pago_Pago")
        #expect(story.ledger.participants.allSatisfy { $0.zones.date(at: moment("2026-05-02T10:30:00Z")) == day("2026-05-01") })
        #expect(openFrom("2026-05-02T10:30:00Z") == day("2026-05-02"))
        try story.at("2026-05-02T10:40:00Z", .end)
        #expect(openFrom("2026-05-02T10:40:00Z") == day("2026-05-02"), "no earlier for the end")
        #expect(openFrom("2026-05-03T11:00:00Z") == day("2026-05-03"))
    }
}
