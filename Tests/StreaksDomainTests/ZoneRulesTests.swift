import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Rules of a zone that change under running streaks (SD-1, SD-3): no date is lost, filled twice or judged again.
@Suite struct ZoneRulesTests {
    /// A zone of a test's own, whose rules come to be known late.
    private struct Moving {
        let name: String
        let change: ZoneRulesChange
        let entries: [ZoneHistory.Entry]

        /// - Parameters:
        ///   - hours: the offset by the older rules, and by the newer ones from `since` on.
        init(_ name: String, _ hours: (old: Int, new: Int), since: String = "2026-05-01T00:00:00Z") throws {
            let old = try #require(ZoneRules(zoneFile(hours.old)))
            let new = try #require(ZoneRules(zoneFile(hours.old, [(moment(since), hours.new)])))
            self.name = name
            TimeZoneDatabase.system.replace([name: old], version: nil)
            change = ZoneRulesChange(zone: name, from: old, to: new)
            entries = [ZoneHistory.Entry(since: moment("2026-04-20T00:00:00Z"), zone: try #require(Zone(name)))]
        }

        /// From now on every zone of the name goes by the newer rules, and the history keeps what it said until now.
        func takeUp(_ entries: [ZoneHistory.Entry], at now: Instant) throws -> ZoneHistory {
            let kept = change.kept(in: entries, at: now)
            TimeZoneDatabase.system.replace([name: change.new], version: nil)
            let rest = entries.filter { entry in !kept.contains { $0.since == entry.since } }
            return try #require(ZoneHistory(entries: rest + kept))
        }

        /// The first of the times of day, an hour apart, at which it may be taken up.
        func readyTime(after start: Instant) -> Instant? {
            (0..<72).map { start + .hours($0) }.first { change.isReady(at: $0, knownSince: start) }
        }
    }

    private func words(_ entries: [ZoneHistory.Entry], _ name: String) -> [String] {
        entries.map { "\($0.since) \($0.zone.name.replacing(name, with: "new"))" }
    }

    @Test func `A clock's past is kept as the offsets that it showed, from where the rules differ until they are taken up`()
        throws
    {
        let moving = try Moving("Test/Kept", (1, 0))
        let now = moment("2026-05-20T12:00:00Z")
        #expect(
            words(moving.change.kept(in: moving.entries, at: now), moving.name) == [
                "2026-05-01T00:00:00Z +01:00", "2026-05-20T12:00:00Z new",
            ]
        )
        // Who came later has shown nothing else, and who has left the zone needs no way back.
        let berlin = try #require(Zone("Europe/Berlin"))
        let late = [ZoneHistory.Entry(since: moment("2026-05-03T00:00:00Z"), zone: moving.entries[0].zone)]
        let left = late + [ZoneHistory.Entry(since: moment("2026-05-10T00:00:00Z"), zone: berlin)]
        #expect(words(moving.change.kept(in: left, at: now), moving.name) == ["2026-05-03T00:00:00Z +01:00"])
        let back = left + [ZoneHistory.Entry(since: moment("2026-05-12T00:00:00Z"), zone: moving.entries[0].zone)]
        #expect(
            words(moving.change.kept(in: back, at: now), moving.name) == [
                "2026-05-03T00:00:00Z +01:00", "2026-05-12T00:00:00Z +01:00", "2026-05-20T12:00:00Z new",
            ]
        )
        // Nothing is kept where nothing has differed: by who left before, in another zone, and of rules that are known in time.
        let early = moving.entries + [ZoneHistory.Entry(since: moment("2026-04-30T00:00:00Z"), zone: berlin)]
        #expect(moving.change.kept(in: early, at: now).isEmpty)
        #expect(moving.change.kept(in: [ZoneHistory.Entry(since: .epoch, zone: berlin)], at: now).isEmpty)
        #expect(moving.change.kept(in: moving.entries, at: moment("2026-04-30T23:00:00Z")).isEmpty)
    }

    @Test func `The open date ends no earlier than was said: what sets a clock forward waits for the next date`() throws {
        func isReady(_ moving: Moving, _ time: String, since: String = "2026-05-10T00:00:00Z") -> Bool {
            moving.change.isReady(at: moment(time), knownSince: moment(since))
        }
        // Back by an hour: the date goes on until 24:00Z. In the last hour by the older rules it is two dates.
        let back = try Moving("Test/ReadyBack", (1, 0))
        #expect(isReady(back, "2026-05-10T12:00:00Z") && isReady(back, "2026-05-10T00:30:00Z"))
        #expect(!isReady(back, "2026-05-10T22:30:00Z") && !isReady(back, "2026-05-10T23:30:00Z"))
        // Forward: the date would end at 07:00Z instead of 08:00Z.
        let forward = try Moving("Test/ReadyForward", (-8, -7))
        #expect(!isReady(forward, "2026-05-10T20:00:00Z") && !isReady(forward, "2026-05-11T07:30:00Z"))
        #expect(isReady(forward, "2026-05-11T08:00:00Z") && isReady(forward, "2026-05-11T13:59:00Z"))
        #expect(!isReady(forward, "2026-05-11T14:00:00Z"))
        // Over a whole date there is no such time; it is made all the same.
        let samoa = try Moving("Test/ReadySamoa", (-11, 13))
        #expect(!isReady(samoa, "2026-05-11T12:00:00Z") && isReady(samoa, "2026-05-11T12:00:00Z", since: "2026-05-09T12:00:00Z"))
        // Known in time, it is taken up at once.
        let known = try Moving("Test/ReadyKnown", (1, 0), since: "2026-06-01T00:00:00Z")
        #expect(isReady(known, "2026-05-10T23:30:00Z"))
    }

    @Test(arguments: [(1, 0), (0, 1), (-8, -7), (-7, -8), (3, 5), (12, 9)], [0, 7, 12, 20, 23])
    func `Who posts late on each date, or early, has each date once when rules are taken up late`(hours: (Int, Int), hour: Int64)
        throws
    {
        for (time, label) in [(Int64(84_600), "Late"), (600, "Early")] {
            let place = "\(hours.0 + 20)To\(hours.1 + 20)At\(hour)"
            let moving = try Moving("Test/Post\(label)\(place)", hours)
            let start = moment("2026-05-10T00:00:00Z") + .hours(hour)
            let takenUp = try #require(moving.readyTime(after: start))
            var story = try Story(.mutual, [moving.name, moving.name], from: "2026-04-20T12:00:00Z")
            var posted: [CalendarDate] = []
            var now = moment("2026-05-03T00:00:00Z")
            var isTakenUp = false
            while now < moment("2026-05-20T00:00:00Z") {
                if !isTakenUp, now >= takenUp {
                    let zones = try moving.takeUp(moving.entries, at: now)
                    for index in story.ledger.participants.indices { story.ledger.participants[index].zones = zones }
                    isTakenUp = true
                }
                let clock = try #require(story.ledger.participants.first).zones
                let date = clock.date(at: now)
                if clock.zone(at: now).secondOfDay(at: now) >= time, !posted.contains(date) {
                    for user in [Story.a, Story.b] { try story.post(user, now.description) }
                    posted.append(date)
                } else {
                    try story.settle(now.description)
                }
                now = now + .minutes(30)
            }
            let state = try story.settle(now.description)
            #expect(state.status == .active && state.count == posted.count && story.keys("broken").isEmpty, "\(place) \(label)")
            let dates = try #require(posted.first).distance(to: try #require(posted.last)) + 1
            #expect(posted.count == dates && posted.allSatisfy { state.mark(on: $0) == .complete }, "\(place) \(label)")
        }
    }

    @Test(arguments: [(1, 0), (0, 1), (-8, -7)])
    func `What was settled by the older rules comes out the same by the newer ones: dates, breaks, freezes and deadlines`(
        hours: (Int, Int)
    )
        throws
    {
        let moving = try Moving("Test/Past\(hours.0 + 20)", hours)
        var story = try Story(.checkIn, [moving.name], from: "2026-04-30T22:30:00Z", freezes: 1)
        // In the hours in which the two differ; then a date is missed and a freeze spent, and the next breaks.
        for time in ["2026-04-30T22:40:00Z", "2026-05-01T22:50:00Z", "2026-05-02T23:10:00Z", "2026-05-04T06:40:00Z"] {
            try story.post(Story.a, time)
        }
        let takenUp = moment("2026-05-08T12:00:00Z")
        let times = (0...240).map { moment("2026-04-30T22:30:00Z") + .hours($0) }.filter { $0 < takenUp }
        let before = times.map { fold(story.ledger, story.policy, at: $0) }
        let entries = [ZoneHistory.Entry(since: moment("2026-04-30T22:30:00Z"), zone: moving.entries[0].zone)]
        var other = story.ledger
        other.participants[0].zones = try moving.takeUp(entries, at: takenUp)
        for (time, state) in zip(times, before) {
            var again = fold(other, story.policy, at: time)
            // Before the rules differed no fold knew of the end that the next date would have.
            if time < moment("2026-05-01T00:00:00Z") {
                (again.deadlineAt, again.atRiskFrom) = (state.deadlineAt, state.atRiskFrom)
            }
            #expect(again == state, "\(time)")
        }
    }
}
