import Kernel
import TestSupport
import Testing

@testable import StreaksDomain

/// When users are reminded of their solo streaks, and of what (NO-5).
@Suite struct SoloReminderTests {
    private let berlin = Zone("Europe/Berlin") ?? .utc

    private func date(_ text: String) -> CalendarDate { CalendarDate(text) ?? CalendarDate(dayNumber: 0) }

    /// The local times of the reminders of a date, by slot.
    private func times(_ zone: Zone, _ text: String, count: Int, usual: Int64? = nil) -> [SoloReminder.Slot: String] {
        let date = date(text)
        let plan = SoloReminders(zones: ZoneHistory(zone), count: count, usual: usual, at: zone.start(of: date))
        var times: [SoloReminder.Slot: String] = [:]
        for slot in SoloReminder.Slot.allCases {
            guard let at = plan.reminder(slot, on: date)?.at else { continue }
            let minutes = zone.secondOfDay(at: at) / 60
            times[slot] = "\(minutes / 60):\(minutes % 60 < 10 ? "0" : "")\(minutes % 60)"
        }
        return times
    }

    @Test func `three times for a short streak, one from 7 on, moved to an hour before the usual check-in`() {
        let day = "2026-05-04"
        #expect(times(berlin, day, count: 3) == [.first: "9:00", .second: "14:00", .third: "19:00", .ending: "21:00"])
        #expect(times(berlin, day, count: 7) == [.first: "9:00", .third: "19:00", .ending: "21:00"])
        let morning: Int64 = 9 * 3_600 + 32 * 60
        #expect(times(berlin, day, count: 3, usual: morning)[.first] == "8:32")
        #expect(times(berlin, day, count: 3, usual: morning)[.third] == "19:00")
        #expect(times(berlin, day, count: 40, usual: morning)[.third] == "8:32")
        let noon: Int64 = 14 * 3_600
        #expect(
            times(berlin, day, count: 3, usual: noon) == [.first: "9:00", .second: "13:00", .third: "19:00", .ending: "21:00"]
        )
        // One that would come just before the last of the day is left to that one.
        #expect(times(berlin, day, count: 40, usual: 22 * 3_600) == [.first: "9:00", .ending: "21:00"])
        // Never on the date before.
        #expect(times(berlin, day, count: 40, usual: 600)[.third] == "0:00")
    }

    @Test func `hours are the clock's on days of 23 and 25 hours`() {
        for day in ["2026-03-29", "2026-10-25"] {
            #expect(times(berlin, day, count: 1) == [.first: "9:00", .second: "14:00", .third: "19:00", .ending: "21:00"])
        }
    }

    @Test func `the usual time is the median of the newest, each by the clock of its time`() {
        let start = berlin.start(of: date("2026-03-20"))
        // 8:00 every day by the wall clock, over the change to summer time.
        let checkIns = (0..<20).map { day in
            SnapWindow(startHour: 8, on: date("2026-03-20").advanced(by: day), in: berlin).opensAt
        }
        #expect(SoloReminders.usual(checkIns.reversed(), ZoneHistory(berlin)) == Int64(8 * 3_600))
        #expect(SoloReminders.usual(checkIns.prefix(4), ZoneHistory(berlin)) == nil)
        // Two outliers do not move it.
        let late = [start + .hours(23), start + .hours(22)]
        #expect(SoloReminders.usual(late + checkIns.prefix(7), ZoneHistory(berlin)) == Int64(8 * 3_600))
    }

    @Test(arguments: 0..<40) func `in every zone a date has each slot at most once, in the date, however late the job runs`(
        seed: UInt64
    ) {
        var random = Seeded(seed)
        let zone = random.pick(RandomHistory.zones)
        let first = CalendarDate(dayNumber: Int32.random(in: 19_000...21_500, using: &random))
        let count = random.pick([1, 6, 7, 100])
        let usual = random.chance(50) ? Int64.random(in: 0..<86_400, using: &random) : nil
        var progress = SoloProgress(since: zone.start(of: first))
        var handled: [SoloReminder] = []
        var now = zone.start(of: first)
        let end = zone.start(of: first.advanced(by: 12))
        while now < end {
            let plan = SoloReminders(zones: ZoneHistory(zone), count: count, usual: usual, at: now)
            for reminder in plan.due(after: progress) {
                progress.note(reminder)
                handled.append(reminder)
            }
            let next = plan.next(after: progress, isDone: false)
            #expect(next > now && next <= now + .days(1) + .hours(2))
            now = next + (random.chance(10) ? .minutes(Int64.random(in: 1...90, using: &random)) : .zero)
        }
        let keys = handled.map { "\($0.date) \($0.slot)" }
        #expect(Set(keys).count == keys.count)
        for reminder in handled {
            #expect(zone.date(at: reminder.at) == reminder.date && reminder.at < reminder.until)
            #expect(reminder.until <= zone.end(of: reminder.date))
        }
        let endings = handled.filter { $0.slot == .ending }.count
        #expect((10...12).contains(endings), "\(zone.name) \(first): \(endings)")
    }

    @Test func `who has checked in is asked again on the next date`() {
        let now = berlin.start(of: date("2026-05-04")) + .hours(9)
        let plan = SoloReminders(zones: ZoneHistory(berlin), count: 2, usual: nil, at: now)
        var progress = SoloProgress(since: .epoch)
        for reminder in plan.due(after: progress) { progress.note(reminder) }
        #expect(plan.next(after: progress, isDone: false) == now + .hours(5))
        #expect(plan.next(after: progress, isDone: true) == now + .hours(24))
    }

    @Test func `what a reminder says`() {
        let today = date("2026-05-04")
        func says(_ slot: SoloReminder.Slot, _ situation: SoloSituation, hour: Int = 9) -> SoloMessage? {
            situation.message(slot, on: today, hour: hour)
        }
        #expect(says(.first, SoloSituation(count: 3, milestone: 7)) == .morning)
        #expect(says(.second, SoloSituation(count: 3, milestone: 7), hour: 14) == .afternoon)
        #expect(says(.third, SoloSituation(count: 3, milestone: 7), hour: 19) == .evening)
        // From 7 on one a day, greeting by its hour.
        #expect(says(.first, SoloSituation(count: 8, milestone: 14)) == nil)
        #expect(says(.third, SoloSituation(count: 8, milestone: 14), hour: 8) == .morning)
        // Count 47: today is day 48, and 50 is two days on.
        #expect(says(.third, SoloSituation(count: 47, milestone: 50)) == .milestone(50, days: 2))
        #expect(says(.third, SoloSituation(count: 48, milestone: 50)) == .milestone(50, days: 1))
        #expect(says(.third, SoloSituation(count: 49, milestone: 50)) == .milestone(50, days: 0))
        #expect(says(.first, SoloSituation(count: 6, milestone: 7)) == .milestone(7, days: 0))
        #expect(says(.second, SoloSituation(count: 6, milestone: 7), hour: 14) == .afternoon)
        // Nothing to who has checked in or has paused.
        #expect(says(.first, SoloSituation(count: 3, isDone: true, milestone: 7)) == nil)
        #expect(says(.first, SoloSituation(count: 3, isPaused: true, milestone: 7)) == nil)
        #expect(says(.first, SoloSituation(count: 30, isFirstAfterPause: true)) == .pauseEnded)
        // After a break on days 1, 2 and 7, and never before a streak.
        for (missed, slot, expected) in [
            ("2026-05-03", SoloReminder.Slot.third, SoloMessage.afterBreak(days: 1)),
            ("2026-05-02", .first, .afterBreak(days: 2)),
            ("2026-04-27", .first, .afterBreak(days: 7)),
        ] {
            #expect(says(slot, SoloSituation(count: 0, missedDate: date(missed))) == expected)
        }
        #expect(says(.first, SoloSituation(count: 0, missedDate: date("2026-05-01"))) == nil)
        #expect(says(.first, SoloSituation(count: 0)) == nil)
        #expect(SoloSituation(count: 0, missedDate: date("2026-04-27")).isWaiting(on: today))
        #expect(!SoloSituation(count: 0, missedDate: date("2026-04-26")).isWaiting(on: today))
    }

    @Test func `the reminder at the end of a day says what the fold will say`() throws {
        var story = try Story(.checkIn, ["UTC"], freezes: 1)
        try story.at("2026-05-01T08:00:00Z", .contribute(Story.a, receivedAt: story.ledger.start, capturedAt: nil))
        let second = try #require(Instant(rfc3339: "2026-05-02T21:00:00Z"))
        #expect(story.ledger.outlook(on: date("2026-05-02"), .checkIn, at: second) == .freeze(left: 1))
        let third = try #require(Instant(rfc3339: "2026-05-03T21:00:00Z"))
        #expect(story.ledger.outlook(on: date("2026-05-03"), .checkIn, at: third) == .breaks)
        var shielded = story
        let id = OperationID(high: 1, low: 1)
        try shielded.at("2026-05-03T10:00:00Z", .protect(.shield, until: nil, id: id))
        #expect(shielded.ledger.outlook(on: date("2026-05-03"), .checkIn, at: third) == .protection(.shield))
        let noon = try #require(Instant(rfc3339: "2026-05-03T12:00:00Z"))
        try story.at("2026-05-03T12:00:00Z", .contribute(Story.a, receivedAt: noon, capturedAt: nil))
        #expect(story.ledger.outlook(on: date("2026-05-03"), .checkIn, at: third) == .safe)
    }
}
