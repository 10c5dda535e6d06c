import Kernel
import TestSupport
import Testing

@testable import StreaksDomain

/// When people are reminded of their habits (HA-5, HA-17, HA-18).
@Suite struct HabitReminderTests {
    private let berlin = Zone("Europe/Berlin") ?? .utc

    private func date(_ text: String) -> CalendarDate { CalendarDate(text) ?? CalendarDate(dayNumber: 0) }

    private func at(_ minute: Int, days: Set<Int>? = nil, since: Instant) -> HabitReminder {
        HabitReminder(HabitReminderTime(storedMinute: minute, days: days), since: since)
    }

    private func shown(_ instant: Instant, _ zone: Zone) -> String {
        let minutes = zone.secondOfDay(at: instant) / 60
        return "\(zone.date(at: instant)) \(minutes / 60):\(minutes % 60 < 10 ? "0" : "")\(minutes % 60)"
    }

    // MARK: - The time of a date

    @Test(arguments: [
        // In the gap: the first minute after it. In the hour that comes twice: the first one.
        ("Europe/Berlin", "2026-03-29", 150, "2026-03-29T01:00:00Z"),
        ("Europe/Berlin", "2026-10-25", 150, "2026-10-25T00:30:00Z"),
        // Half an hour.
        ("Australia/Lord_Howe", "2026-10-04", 135, "2026-10-03T15:30:00Z"),
        ("Australia/Lord_Howe", "2026-04-05", 105, "2026-04-04T14:45:00Z"),
        // The gap is at midnight.
        ("America/Santiago", "2026-09-06", 10, "2026-09-06T04:00:00Z"),
        // 20 to 24 h come twice on the date before.
        ("America/Santiago", "2026-04-04", 1_410, "2026-04-05T02:30:00Z"),
    ])
    func `a skipped time is the first minute after it, one that comes twice is the first`(
        name: String,
        day: String,
        minute: Int,
        expected: String
    ) throws {
        let zone = try #require(Zone(name))
        let now = zone.start(of: date(day))
        let reminder = at(minute, since: now)
        let next = HabitReminderPlan(zones: ZoneHistory(zone), at: now + .seconds(-1)).next(reminder)
        #expect(next == Instant(rfc3339: expected))
    }

    @Test func `a date that a zone leaves out has no reminder`() throws {
        let apia = try #require(Zone("Pacific/Apia"))
        var now = apia.start(of: date("2011-12-29"))
        var reminder = at(480, since: now)
        var times: [String] = []
        for _ in 0..<3 {
            now = try #require(HabitReminderPlan(zones: ZoneHistory(apia), at: now).next(reminder))
            reminder.note(try #require(HabitReminderPlan(zones: ZoneHistory(apia), at: now).due(reminder)))
            times.append(shown(now, apia))
        }
        #expect(times == ["2011-12-29 8:00", "2011-12-31 8:00", "2012-01-01 8:00"])
    }

    @Test(arguments: 0..<150)
    func `each of its dates has a reminder once, at its minute, whatever the zone and however late the job`(seed: UInt64) {
        var random = Seeded(seed)
        let zone = random.pick(RandomHistory.zones)
        // Half of the lives begin just before a change of some clock.
        let first =
            random.chance(50)
            ? random.pick(["2026-03-06", "2026-03-27", "2026-04-02", "2026-09-03", "2026-10-02", "2026-10-23"].map(date))
            : CalendarDate(dayNumber: Int32.random(in: 19_000...21_500, using: &random))
        let days: Set<Int>? = random.chance(30) ? [0, 1, 2, 3] : nil
        let minute = random.chance(40) ? random.pick([0, 30, 120, 135, 150, 1_439]) : Int.random(in: 0..<1_440, using: &random)
        let (start, end) = (zone.start(of: first), zone.start(of: first.advanced(by: 14)))
        let isPunctual = random.chance(50)
        var reminder = at(minute, days: days, since: start)
        var had: [DueHabitReminder] = []
        var now = start
        while now < end {
            let plan = HabitReminderPlan(zones: ZoneHistory(zone), at: now)
            if let due = plan.due(reminder) {
                reminder.note(due)
                had.append(due)
            }
            #expect(plan.due(reminder) == nil, "nothing is due twice")
            let next = plan.next(reminder) ?? now + .days(1)
            #expect(next > now)
            now = next + (isPunctual ? .zero : .minutes(Int64.random(in: 0...300, using: &random)))
        }
        had.removeAll { $0.at >= end }
        let wanted = (0..<14).map { first.advanced(by: $0) }.filter { days?.contains($0.weekday) ?? true }
        // Found minute by minute on the wall clock.
        let expected = wanted.compactMap { date -> Instant? in
            var probe = zone.start(of: date)
            while probe < zone.end(of: date) {
                if zone.secondOfDay(at: probe) / 60 >= Int64(minute) { return probe }
                probe = probe + .minutes(1)
            }
            return nil
        }
        if isPunctual {
            #expect(had.map(\.at) == expected, "\(zone.name) \(first) \(minute)")
        } else {
            #expect(Set(had.map(\.date)).count == had.count && Set(had.map(\.at)).isSubset(of: expected))
        }
        for due in had { #expect(due.at < due.until && due.until <= zone.end(of: due.date) && due.until - due.at <= .hours(3)) }
    }

    @Test(arguments: 0..<100)
    func `who travels is reminded once a date, and not of a date that is over for them`(seed: UInt64) throws {
        var random = Seeded(seed)
        let first = CalendarDate(dayNumber: Int32.random(in: 20_000...21_000, using: &random))
        var now = random.pick(RandomHistory.zones).start(of: first)
        var zones = ZoneHistory(random.pick(RandomHistory.zones))
        var reminder = at(Int.random(in: 0..<1_440, using: &random), since: now)
        var had: [DueHabitReminder] = []
        var evenings: [HabitDayReminder] = []
        let end = now + .days(20)
        while now < end {
            if random.chance(20) { zones.change(to: random.pick(RandomHistory.zones), at: now) }
            let plan = HabitReminderPlan(zones: zones, at: now)
            if let due = plan.due(reminder) {
                #expect(due.date >= zones.openFrom(at: now), "\(due.date) is over")
                reminder.note(due)
                had.append(due)
            }
            if let due = plan.evening(since: .epoch, handled: evenings.last?.date) { evenings.append(due) }
            now = now + .minutes(Int64.random(in: 1...120, using: &random))
        }
        #expect(had.map(\.date) == Array(Set(had.map(\.date))).sorted())
        #expect(evenings.map(\.date) == Array(Set(evenings.map(\.date))).sorted())
    }

    @Test func `another time on the same date is new when it is later, and what was set after its time waits`() throws {
        let nine = berlin.start(of: date("2026-05-04")) + .hours(9)
        var reminder = at(480, since: .epoch)
        let plan = HabitReminderPlan(zones: ZoneHistory(berlin), at: nine)
        reminder.note(try #require(plan.due(reminder)))
        #expect(plan.due(reminder) == nil)
        reminder.time.minute = 600
        #expect(plan.next(reminder) == nine + .hours(1))
        (reminder.time.minute, reminder.since) = (480, nine)
        #expect(plan.next(reminder) == nine + .hours(23))
        let new = at(480, since: nine)
        #expect(plan.due(new) == nil && plan.next(new) == nine + .hours(23))
    }

    @Test func `the days of the reminder choose among dates`() {
        let monday = date("2026-05-04")
        func dates(_ days: Set<Int>?) -> [String] {
            var (now, found) = (berlin.start(of: monday), [String]())
            var reminder = at(0, days: days, since: now)
            while now < berlin.start(of: monday.advanced(by: 7)) {
                let plan = HabitReminderPlan(zones: ZoneHistory(berlin), at: now)
                if let due = plan.due(reminder) {
                    reminder.note(due)
                    found.append("\(due.date)")
                }
                now = plan.next(reminder) ?? now + .days(1)
            }
            return found
        }
        #expect(dates(nil).count == 7)
        #expect(dates([1, 3, 0]) == ["2026-05-04", "2026-05-06", "2026-05-10"])
        #expect(dates([6]) == ["2026-05-09"])
    }

    // MARK: - Snoozes

    @Test func `three snoozes of an hour, each once, and the fourth is refused`() throws {
        let (day, zones) = (date("2026-05-04"), ZoneHistory(berlin))
        var reminder = at(480, since: .epoch)
        var now = berlin.start(of: day) + .hours(8)
        for number in 0..<3 {
            let due = try #require(HabitReminderPlan(zones: zones, at: now).due(reminder))
            #expect(due.number == number && due.isRepeat == (number > 0))
            reminder.note(due)
            let tapped = now + .minutes(5)
            #expect(try reminder.snooze(number, on: day, zones, at: tapped) == tapped + .hours(1))
            // Said again, by the same device or another one.
            #expect(try reminder.snooze(number, on: day, zones, at: tapped + .minutes(30)) == tapped + .hours(1))
            #expect(reminder.snoozesLeft(on: day) == 2 - number)
            let plan = HabitReminderPlan(zones: zones, at: tapped)
            #expect(plan.due(reminder) == nil && plan.next(reminder) == tapped + .hours(1))
            now = tapped + .hours(1)
        }
        reminder.note(try #require(HabitReminderPlan(zones: zones, at: now).due(reminder)))
        for number in [nil, 3] {
            let error = #expect(throws: ServiceError.self) { try reminder.snooze(number, on: day, zones, at: now) }
            #expect(error?.reason == "SNOOZE_LIMIT_REACHED")
        }
        // What was said before is said again, and the next date has three of its own.
        #expect(try reminder.snooze(2, on: day, zones, at: now) == nil)
        #expect(reminder.snoozesLeft(on: day.advanced(by: 1)) == 3)
        #expect(try reminder.snooze(nil, on: day.advanced(by: 1), zones, at: now + .days(1)) == now + .days(1) + .hours(1))
    }

    @Test func `past midnight a snooze is dropped`() throws {
        let (day, zones) = (date("2026-05-04"), ZoneHistory(berlin))
        let end = berlin.end(of: day)
        var reminder = at(1_380, since: .epoch)
        #expect(try reminder.snooze(0, on: day, zones, at: end + .hours(-1)) == nil)
        #expect(reminder.snoozesLeft(on: day) == 2)
        #expect(try reminder.snooze(1, on: day, zones, at: end + .hours(-1) + .seconds(-1)) == end + .seconds(-1))
        // Tapped after midnight: yesterday's is over, and today's snoozes are as they were.
        #expect(try reminder.snooze(2, on: day, zones, at: end + .minutes(1)) == nil)
        #expect(reminder.snoozesLeft(on: day.advanced(by: 1)) == 3)
        // The job comes too late.
        #expect(HabitReminderPlan(zones: zones, at: end).due(reminder) == nil)
        // The traveller's date ends earlier than it seemed.
        var travelled = zones
        travelled.change(to: Zone("Asia/Tokyo") ?? .utc, at: end + .hours(-7))
        #expect(HabitReminderPlan(zones: travelled, at: end + .seconds(-1)).due(reminder)?.date != day)
    }

    // MARK: - Plans

    @Test(arguments: 0..<60)
    func `the free plan has the earliest three of a date, premium all`(seed: UInt64) {
        var random = Seeded(seed)
        let first = date("2026-05-04")
        var now = berlin.start(of: first)
        var habits = (0..<Int.random(in: 1...12, using: &random)).map { _ in
            at(Int.random(in: 0..<1_440, using: &random), since: now)
        }
        let minutes = habits.map(\.time.minute).sorted()
        // A downgrade at some instant.
        let downgrade = now + .minutes(Int64.random(in: 0...(5 * 1_440), using: &random))
        var allowance = HabitReminderAllowance()
        var sent: [CalendarDate: [Int]] = [:]
        while now < berlin.start(of: first.advanced(by: 5)) {
            let plan = HabitReminderPlan(zones: ZoneHistory(berlin), at: now)
            var next: [Instant] = []
            for index in habits.indices {
                if let due = plan.due(habits[index]) {
                    habits[index].note(due)
                    if allowance.take(on: due.date, .of(isPremium: now < downgrade)) {
                        sent[due.date, default: []].append(habits[index].time.minute)
                    }
                }
                if let at = plan.next(habits[index]) { next.append(at) }
            }
            now = next.min() ?? now + .days(1)
        }
        for index in 0..<5 {
            let day = first.advanced(by: index)
            let had = sent[day, default: []]
            if berlin.end(of: day) <= downgrade { #expect(had == minutes) }
            if downgrade <= berlin.start(of: day) { #expect(had == Array(minutes.prefix(3))) }
            // On the date of the downgrade: what came as premium, and no more than three in all after it.
            #expect(had == Array(minutes.prefix(had.count)) && had.count >= min(3, minutes.count))
        }
    }

    // MARK: - The whole date

    @Test func `the evening comes at 8 PM, once a date, until midnight`() {
        let day = date("2026-10-25")
        let eight = berlin.end(of: day) + .hours(-4)
        func due(_ now: Instant, handled: CalendarDate? = nil, since: Instant = .epoch) -> CalendarDate? {
            HabitReminderPlan(zones: ZoneHistory(berlin), at: now).evening(since: since, handled: handled)?.date
        }
        #expect(shown(eight, berlin) == "2026-10-25 20:00")
        #expect(due(eight) == day && due(eight + .seconds(-1)) == nil)
        #expect(due(eight + .hours(4) + .seconds(-1)) == day && due(eight + .hours(4)) == nil)
        #expect(due(eight, handled: day) == nil && due(eight, handled: day.advanced(by: -1)) == day)
        #expect(due(eight, since: eight + .seconds(1)) == nil)
        let plan = HabitReminderPlan(zones: ZoneHistory(berlin), at: eight)
        #expect(plan.nextEvening(since: .epoch, handled: day) == eight + .hours(24))
    }

    @Test func `motivation has one minute a date, from 9 to 20 h, spread evenly over people and over dates`() {
        func isEven(_ minutes: [Int64]) -> Bool {
            // Eleven hours: chi-square with 10 degrees of freedom stays below 35.6 in 9,999 of 10,000 draws.
            var hours = [Int](repeating: 0, count: 11)
            for minute in minutes { hours[Int(minute / 60) - 9] += 1 }
            let expected = Double(minutes.count) / 11
            return hours.reduce(0) { $0 + (Double($1) - expected) * (Double($1) - expected) / expected } < 35.6
        }
        let first = date("2026-01-01")
        let people = (0..<22_000).map { UserID(high: 0x0190_0000_0000_7000, low: UInt64($0)) }
        let onOneDate = people.map { HabitReminderPlan.motivationMinute(of: $0, on: first) }
        #expect(onOneDate.allSatisfy { (540..<1_200).contains($0) })
        #expect(isEven(onOneDate) && Set(onOneDate).count == 660, "every minute has its people")
        for person in people.prefix(20) {
            let dates = (0..<2_200).map { HabitReminderPlan.motivationMinute(of: person, on: first.advanced(by: $0)) }
            #expect(isEven(dates) && Set(dates).count > 600)
        }
    }

    @Test func `motivation comes once a date, and its words in turn`() throws {
        let user = UserID(high: 7, low: 9)
        var now = berlin.start(of: date("2026-03-20"))
        var (handled, dates, numbers): (CalendarDate?, [CalendarDate], [Int32]) = (nil, [], [])
        while dates.count < 30 {
            let plan = HabitReminderPlan(zones: ZoneHistory(berlin), at: now)
            if let due = plan.motivation(of: user, since: .epoch, handled: handled) {
                #expect((9..<20).contains(berlin.secondOfDay(at: due.at) / 3_600))
                handled = due.date
                dates.append(due.date)
                numbers.append(HabitReminderPlan.motivationNumber(of: user, on: due.date))
            }
            now = try #require(plan.nextMotivation(of: user, since: .epoch, handled: handled))
        }
        #expect(dates == (0..<30).map { date("2026-03-20").advanced(by: $0) })
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 + 1 == $1 } && numbers[0] >= 0)
    }
}
