import Kernel
import TestSupport
import Testing

@testable import StreaksDomain

/// When users are reminded of their window and of a day that ends (PW-2, NO-5).
@Suite struct ReminderTests {
    private let user = UserID(high: 7, low: 42)

    private func plan(_ zones: ZoneHistory, hour: Int = 10, at now: Instant) -> UserReminders {
        UserReminders(of: user, zones: zones, startHour: hour, at: now)
    }

    /// A history in steps: what is emitted when the job runs at the instants it asked for, `delay` late each time.
    private struct Life {
        let user: UserID
        var zones: ZoneHistory
        var hour = 10
        var progress: ReminderProgress
        var emitted: [Reminder] = []
        var runs = 0

        init(_ user: UserID, _ zones: ZoneHistory, hour: Int, since: Instant) {
            (self.user, self.zones, self.hour) = (user, zones, hour)
            progress = ReminderProgress(since: since)
        }

        /// One run of the job. - Returns: when to run again.
        mutating func settle(at now: Instant) -> Instant {
            let plan = UserReminders(of: user, zones: zones, startHour: hour, at: now)
            for reminder in plan.due(after: progress) {
                progress.note(reminder)
                emitted.append(reminder)
            }
            runs += 1
            return plan.next(after: progress)
        }

        mutating func live(from start: Instant, until end: Instant, delay: (Int) -> Interval = { _ in .zero }) {
            var now = start
            while now < end {
                let next = settle(at: now)
                now = max(next, now + .seconds(1)) + delay(runs)
            }
        }

        func dates(_ kind: Reminder.Kind) -> [CalendarDate] { emitted.filter { $0.kind == kind }.map(\.date) }
    }

    @Test func `Every date has one push in the first hour of its window, one reminder and one end, in every zone, on DST days`()
        throws
    {
        var random = Seeded(11)
        for _ in 0..<60 {
            let zone = random.pick(RandomHistory.zones)
            let hour = Int.random(in: 0...23, using: &random)
            let first = CalendarDate(dayNumber: Int32.random(in: 19_000...21_500, using: &random))
            let user = UserID(high: random.next(), low: random.next())
            var life = Life(user, ZoneHistory(zone), hour: hour, since: zone.start(of: first))
            let last = first.advanced(by: 40)
            life.live(from: zone.start(of: first), until: zone.end(of: last.advanced(by: 1)))
            let dates = (0...40).map { first.advanced(by: $0) }.filter { zone.start(of: $0) < zone.end(of: $0) }
            for kind in Reminder.Kind.allCases {
                let emitted = life.dates(kind)
                #expect(emitted == emitted.sorted() && Set(emitted).count == emitted.count, "\(zone) \(kind)")
                #expect(dates.allSatisfy(emitted.contains), "\(zone) \(hour) \(first) \(kind)")
            }
            for date in dates {
                let window = SnapWindow(startHour: hour, on: date, in: zone)
                let push = try #require(life.emitted.first { $0.kind == .windowOpened && $0.date == date })
                #expect(push.at >= window.opensAt && push.at < window.opensAt + .hours(1) && push.until == window.closesAt)
                let reminder = try #require(life.emitted.first { $0.kind == .windowClosing && $0.date == date })
                #expect(reminder.at == window.closesAt - .minutes(30) && push.at + .minutes(30) < reminder.at, "\(zone) \(date)")
                let end = try #require(life.emitted.first { $0.kind == .dayEnding && $0.date == date })
                #expect(end.at + .hours(3) == zone.end(of: date) && zone.date(at: end.at) == date, "\(zone) \(date)")
            }
            #expect(life.runs < 41 * 4 + 12, "the job runs when something is due, not more often")
        }
    }

    @Test(arguments: 1...40) func `Two jobs that run at different times emit the same`(seed: Int) throws {
        var random = Seeded(UInt64(seed))
        let zone = random.pick(RandomHistory.zones)
        let hour = Int.random(in: 0...23, using: &random)
        let start = Instant(seconds: Int64.random(in: 1_700_000_000...1_800_000_000, using: &random))
        var one = Life(user, ZoneHistory(zone), hour: hour, since: start)
        var two = one
        one.live(from: start, until: start + .days(30))
        let delays = (0..<64).map { _ in Interval.seconds(Int64.random(in: 0...55, using: &random)) }
        two.live(from: start, until: start + .days(30)) { delays[$0 % 64] }
        #expect(Set(one.emitted).subtracting(two.emitted).allSatisfy { $0.at > start + .days(29) })
        #expect(Set(two.emitted).subtracting(one.emitted).allSatisfy { $0.at > start + .days(29) })
    }

    @Test(arguments: 1...60)
    func `However the clock and the hour are changed, no date is emitted twice, and nothing outside its window or day`(seed: Int)
        throws
    {
        var random = Seeded(UInt64(seed) &+ 900)
        var now = Instant(seconds: Int64.random(in: 1_700_000_000...1_800_000_000, using: &random))
        var life = Life(user, ZoneHistory(random.pick(RandomHistory.zones)), hour: 10, since: now)
        for _ in 0..<120 {
            let next = life.settle(at: now)
            #expect(next > now)
            let pause = Interval.minutes(Int64.random(in: 1...900, using: &random))
            now = random.chance(70) ? next : min(next, now + pause)
            if random.chance(20) { life.zones.change(to: random.pick(RandomHistory.zones), at: now) }
            if random.chance(10) { life.hour = Int.random(in: 0...23, using: &random) }
            let before = life.emitted.count
            _ = life.settle(at: now)
            for reminder in life.emitted[before...] {
                #expect(reminder.at <= now && now < reminder.until)
                switch reminder.kind {
                case .windowOpened, .windowClosing: #expect(reminder.window.isOpen(at: now))
                case .dayEnding: #expect(life.zones.date(at: now) == reminder.date && reminder.until - now <= .hours(3))
                }
            }
        }
        for kind in Reminder.Kind.allCases {
            #expect(Set(life.dates(kind)).count == life.dates(kind).count, "\(kind)")
        }
    }

    @Test func `What is long past is dropped: a service that was away for days reminds of the present date only`() {
        let start = moment("2026-05-01T00:00:00Z")
        var life = Life(user, ZoneHistory(.utc), hour: 10, since: start)
        life.live(from: start, until: moment("2026-05-03T00:00:00Z"))
        #expect(life.dates(.dayEnding).count == 2)
        _ = life.settle(at: moment("2026-05-06T23:30:00Z"))
        #expect(life.dates(.dayEnding).suffix(1) == [day("2026-05-06")])
        #expect(life.dates(.windowOpened) == [day("2026-05-01"), day("2026-05-02")])
        #expect(life.settle(at: moment("2026-05-07T00:00:00Z")) > moment("2026-05-07T09:59:00Z"), "at midnight it is too late")
        #expect(life.emitted.count { $0.kind == .dayEnding } == 3)
    }

    @Test(arguments: [
        ("2026-03-08", "2026-03-09T01:00:00Z"), ("2026-11-01", "2026-11-02T02:00:00Z"),
        ("2026-11-02", "2026-11-03T02:00:00Z"),
    ]) func `Days of 23 and 25 hours: three hours before their end (New York 2026)`(date: String, at: String) throws {
        let zone = try #require(Zone("America/New_York"))
        let ending = try #require(plan(ZoneHistory(zone), at: moment(at)).reminder(.dayEnding, on: day(date)))
        #expect(ending.at == moment(at))
    }

    @Test func `A date that the zone leaves out has no reminders (Apia, 2011-12-30)`() throws {
        let zone = try #require(Zone("Pacific/Apia"))
        let reminders = plan(ZoneHistory(zone), at: moment("2011-12-29T20:00:00Z"))
        for kind in Reminder.Kind.allCases { #expect(reminders.reminder(kind, on: day("2011-12-30")) == nil) }
        #expect(reminders.reminder(.dayEnding, on: day("2011-12-29"))?.until == moment("2011-12-30T10:00:00Z"))
    }

    @Test func `A window from 23:00 is that of the date on which it opens, also after midnight`() throws {
        let now = moment("2026-05-02T00:30:00Z")
        let reminders = UserReminders(of: user, zones: ZoneHistory(.utc), startHour: 23, at: now)
        let due = reminders.due(after: ReminderProgress(since: now - .days(1)))
        #expect(due.filter { $0.kind == .windowClosing }.map(\.date) == [day("2026-05-01")])
        #expect(due.first { $0.kind == .windowClosing }?.until == moment("2026-05-02T01:00:00Z"))
    }

    @Test func `A user whose first streak begins in the window is not reminded at once`() throws {
        let opened = try #require(
            plan(ZoneHistory(.utc), at: moment("2026-05-01T09:00:00Z")).reminder(.windowOpened, on: day("2026-05-01"))
        )
        let now = opened.at + .minutes(1)
        let due = plan(ZoneHistory(.utc), at: now).due(after: ReminderProgress(since: now))
        #expect(!due.contains { $0.kind == .windowOpened })
        #expect(plan(ZoneHistory(.utc), at: now).due(after: ReminderProgress(since: opened.at)).contains(opened))
    }

    @Test func `Only a streak that counts and lacks this user's snap is at stake (NO-5)`() throws {
        var story = try Story()
        let evening = "2026-05-03T21:00:00Z"
        func stake(_ user: UserID, _ time: String = evening) -> StreakLedger.Stake? {
            story.ledger.stake(of: user, on: day("2026-05-03"), .mutual, at: moment(time))
        }
        #expect(stake(Story.a) == nil, "it counts nothing")
        try story.noon(1...2)
        #expect(stake(Story.a)?.count == 2)
        #expect(stake(Story.a)?.deadline == moment("2026-05-04T00:00:00Z"))
        try story.post(Story.b, "2026-05-03T20:00:00Z")
        #expect(stake(Story.a)?.count == 2 && stake(Story.b) == nil)
        #expect(stake(Story.a, "2026-05-04T00:00:00Z") == nil, "over")
        try story.at(evening, .recover(Story.a))
        #expect(stake(Story.a) == nil, "a token keeps the date")
    }

    @Test func `A streak that is over is not at stake`() throws {
        var story = try Story()
        try story.noon(1...2)
        try story.at("2026-05-03T12:00:00Z", .end)
        #expect(story.ledger.stake(of: Story.a, on: day("2026-05-03"), .mutual, at: moment("2026-05-03T21:00:00Z")) == nil)
    }

    @Test func `What a client says of another date does not make a snap on time (PW-3)`() {
        func onTime(_ received: String, _ captured: String?, hour: Int = 10) -> Bool {
            SnapWindow.isOnTime(
                receivedAt: moment(received),
                capturedAt: captured.map { moment($0) },
                startHour: hour,
                ZoneHistory(.utc),
                .mutual
            )
        }
        #expect(onTime("2026-05-02T11:00:00Z", nil) && !onTime("2026-05-02T13:00:00Z", nil))
        #expect(onTime("2026-05-02T20:00:00Z", "2026-05-02T11:00:00Z"), "captured in the window, sent in the evening")
        #expect(!onTime("2026-05-02T20:00:00Z", "2026-05-01T11:00:00Z"), "of a date that accepts it no more")
        #expect(onTime("2026-05-02T03:00:00Z", "2026-05-01T11:00:00Z"), "of yesterday, within the tolerance")
        #expect(onTime("2026-05-02T00:50:00Z", "2026-05-01T23:30:00Z", hour: 23), "a window over midnight")
        #expect(!onTime("2026-05-02T02:00:00Z", nil, hour: 23) && onTime("2026-05-02T01:20:00Z", nil, hour: 23))
    }
}
