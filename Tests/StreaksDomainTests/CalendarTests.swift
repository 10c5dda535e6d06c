import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Months, years and totals (MS-5).
@Suite struct CalendarTests {
    @Test func `A month is its dates`() throws {
        let lengths = ["2026-01": 31, "2026-02": 28, "2028-02": 29, "2026-04": 30, "2026-12": 31, "9999-12": 31]
        for (text, length) in lengths {
            let month = try #require(CalendarMonth(text))
            #expect(month.description == text)
            #expect(month.dates.count == length)
            #expect(month.dates.lowerBound.description == text + "-01")
            #expect(month.dates.allSatisfy { CalendarMonth(containing: $0) == month })
            #expect(CalendarMonth(containing: month.dates.upperBound.advanced(by: 1)) != month)
        }
        for wrong in ["", "2026", "2026-13", "2026-00", "2026-1", "26-01", "2026-01-01", "2026/01", "2026-0١"] {
            #expect(CalendarMonth(wrong) == nil, "\(wrong)")
        }
    }

    @Test func `A month with a break: every date says who posted`() throws {
        var story = try Story()
        try story.noon(1...2)
        try story.post(Story.a, "2026-05-03T12:00:00Z")
        let state = try story.settle("2026-05-20T12:00:00Z")
        let may = try #require(CalendarMonth("2026-05"))
        let days = MutualView.days(may.dates, story.ledger, state, reader: Story.a)
        #expect(days.count == 31)
        #expect(days.prefix(4).map(\.mark) == [.both, .both, .broken, .none])
        #expect(days.map(\.date) == Array(may.dates))
        #expect(days[2].youPosted && !days[2].friendPosted)
        let theirs = MutualView.days(may.dates, story.ledger, state, reader: Story.b)
        #expect(theirs.map(\.mark) == days.map(\.mark))
        #expect(!theirs[2].youPosted && theirs[2].friendPosted)
        let april = try #require(CalendarMonth("2026-04"))
        #expect(MutualView.days(april.dates, story.ledger, state, reader: Story.a).allSatisfy { $0.mark == .none })
    }

    @Test(arguments: 0..<4) func `Over random lives, marks are what was posted, missed and kept; both see the same`(block: Int) {
        var seen: Set<MutualView.CalendarMark> = []
        for number in 0..<30 {
            let seed = UInt64(50_000 + block * 100 + number)
            var life = RandomHistory(seed: seed, policy: .mutual, users: 2, isThorough: false)
            life.live(days: 45)
            let ledger = life.whole()
            let state = fold(ledger, .mutual, at: life.now)
            let span = ledger.firstDate.advanced(by: -40)...life.newest.advanced(by: 40)
            let posted = Set(life.contributions.map { "\($0.user) \($0.date)" })
            let days = MutualView.days(span, ledger, state, reader: life.users[0])
            let theirs = MutualView.days(span, ledger, state, reader: life.users[1])
            for (day, mirrored) in zip(days, theirs) {
                let flags = life.users.map { posted.contains("\($0) \(day.date)") }
                #expect([day.youPosted, day.friendPosted] == flags, "seed \(seed), \(day)")
                #expect([mirrored.friendPosted, mirrored.youPosted] == flags, "seed \(seed), \(day)")
                #expect((day.mark == .both) == (flags == [true, true]), "seed \(seed), \(day)")
                #expect((day.mark == .broken) == (state.missedDate == day.date), "seed \(seed), \(day)")
                #expect(day.mark != .you || mirrored.mark == .friend, "seed \(seed), \(day)")
                seen.insert(day.mark)
            }
            #expect(days.count { state.mark(on: $0.date) == .complete } == state.count, "seed \(seed)")
        }
        #expect(seen == [.none, .you, .friend, .both, .broken, .recovered])
    }

    @Test func `A year has all its dates, whatever is known of them`() throws {
        let known = [
            HeatMap.Day(date: day("2028-02-29"), posted: 3, completed: 2),
            HeatMap.Day(date: day("2028-12-31"), posted: 1, completed: 0),
            HeatMap.Day(date: day("2029-01-01"), posted: 9, completed: 9),
        ]
        let map = try HeatMap(#require(HeatMap.dates(of: 2028)), known)
        #expect(map.days.count == 366)
        #expect(map.days.first?.date == day("2028-01-01") && map.days.last?.date == day("2028-12-31"))
        #expect(map.days[59] == known[0])
        #expect(map.postedDates == 2 && map.completedDates == 1 && map.mostCompleted == 2)
        #expect(try HeatMap(#require(HeatMap.dates(of: 2027)), []).days.count == 365)
        #expect(HeatMap(day("2028-12-31")...day("2029-01-01"), known).days == Array(known.dropFirst()))
    }

    @Test(arguments: 0..<50) func `Totals over all streaks of a user are those counted one by one`(seed: UInt64) {
        var random = Seeded(seed)
        let you = Story.a
        let records = (0..<Int.random(in: 0...40, using: &random)).map { _ in
            let count = Int.random(in: 0...400, using: &random)
            let status = random.pick([StreakState.Status.active, .broken, .ended])
            return StreakTotals.Record(
                status: status,
                count: count,
                longest: count + random.pick([0, 0, 5]),
                brokenBy: status == .broken ? random.pick([you, Story.b, nil]) : nil
            )
        }
        let totals = StreakTotals(of: you, records)
        let (active, broken) = (records.filter { $0.status == .active }, records.filter { $0.status == .broken })
        #expect(totals.total == records.count)
        #expect(totals.active == active.count)
        #expect(totals.broken == broken.count)
        #expect(totals.brokenByYou == broken.filter { $0.brokenBy == you }.count)
        #expect(totals.longest == records.map(\.longest).max() ?? 0)
        #expect(totals.longestActive == active.map(\.count).max() ?? 0)
        #expect(totals.completedDates == records.reduce(0) { $0 + $1.count })
    }

    @Test func `Weekdays and shares`() {
        let week = Weekdays([1: 2, 3: 5, 7: 5])
        #expect(week.counts == [2, 0, 5, 0, 0, 0, 5])
        #expect(week.total == 12 && week.best == 3)
        #expect(Weekdays([:]).best == nil && Weekdays([:]).counts.count == 7)
        #expect(percent(0, of: 0) == nil)
        #expect([(0, 3), (1, 3), (2, 3), (3, 3), (4, 3)].map { percent($0, of: $1) } == [0, 33, 66, 100, 100])
    }
}
