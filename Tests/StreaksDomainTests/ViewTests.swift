import Kernel
import StreaksDomain
import Testing

@Suite struct ViewTests {
    let a = Story.a
    let b = Story.b

    private func pill(_ story: Story, _ reader: UserID, _ time: String) throws -> MutualView.Pill? {
        let state = fold(story.ledger, story.policy, at: moment(time))
        return try #require(MutualView(story.ledger, state, reader: reader)).pill
    }

    @Test func `Whom the streak waits for (MS-4)`() throws {
        var story = try Story()
        try story.noon(1...1)
        #expect(try pill(story, a, "2026-05-01T12:00:00Z") == .bothPosted)
        #expect(try pill(story, a, "2026-05-02T10:00:00Z") == .waitingOnYou)
        try story.post(a, "2026-05-02T10:00:00Z")
        #expect(try pill(story, a, "2026-05-02T10:00:00Z") == .waitingOnFriend)
        #expect(try pill(story, b, "2026-05-02T10:00:00Z") == .waitingOnYou)
        #expect(try pill(story, b, "2026-05-02T18:00:00Z") == .waitingOnYou)
        #expect(try pill(story, b, "2026-05-02T18:00:01Z") == .atRisk)
        #expect(try pill(story, b, "2026-05-03T00:00:00Z") == nil)
        let view = try #require(
            MutualView(story.ledger, fold(story.ledger, .mutual, at: moment("2026-05-02T11:00:00Z")), reader: b)
        )
        #expect(!view.youPostedToday && view.friendPostedToday)
    }

    @Test func `A covered date is not at risk, and a count of 0 cannot spend a token`() throws {
        var story = try Story()
        #expect(story.refusal("2026-05-01T20:00:00Z", .recover(a)) == "STREAK_NOT_BROKEN")
        try story.noon(1...2)
        let state = try story.at("2026-05-03T20:00:00Z", .recover(b))
        #expect(!state.isAtRisk && state.deadlineAt == moment("2026-05-04T00:00:00Z"))
        #expect(story.refusal("2026-05-03T21:00:00Z", .recover(a)) == "RECOVERY_ALREADY_USED")
    }

    @Test func `The calendar of a reader (MS-5)`() throws {
        var story = try Story()
        try story.noon(1...2)
        try story.post(a, "2026-05-03T12:00:00Z")
        try story.at("2026-05-04T10:00:00Z", .recover(a))
        try story.post(b, "2026-05-04T12:00:00Z")
        let state = try story.settle("2026-05-06T12:00:00Z")
        let marks = (1...6).map { MutualView.mark(on: day("2026-05-0\($0)"), story.ledger, state, reader: a) }
        #expect(marks == [.both, .both, .recovered, .recovered, .broken, .none])
        let early = fold(story.ledger, .mutual, at: moment("2026-05-03T13:00:00Z"))
        #expect(MutualView.mark(on: day("2026-05-03"), story.ledger, early, reader: a) == .you)
        #expect(MutualView.mark(on: day("2026-05-03"), story.ledger, early, reader: b) == .friend)
    }

    @Test func `Prompts: 126, none again within 100 dates, a new category each date (PW-1)`() {
        #expect(Set(DailyPrompt.all.map(\.text)).count >= 120)
        #expect(Set(DailyPrompt.all.map(\.id)).count == DailyPrompt.all.count)
        #expect(DailyPrompt.all.allSatisfy { !$0.emoji.isEmpty && !$0.text.isEmpty && $0.text.count <= 100 })
        var lastSeen: [String: CalendarDate] = [:]
        var previous: DailyPrompt?
        for offset in -200..<1_000 {
            let date = day("2026-01-01").advanced(by: offset)
            let prompt = DailyPrompt.of(date)
            #expect(prompt.category != previous?.category)
            if let seen = lastSeen[prompt.id] { #expect(seen.distance(to: date) > 100) }
            lastSeen[prompt.id] = date
            previous = prompt
        }
    }

    @Test(arguments: [
        ("UTC", 10, "2026-05-01", "2026-05-01T10:00:00Z"), ("Asia/Kolkata", 10, "2026-05-01", "2026-05-01T04:30:00Z"),
        // 02:00 does not exist, 01:00 is there twice, midnight does not exist.
        ("America/New_York", 2, "2026-03-08", "2026-03-08T07:00:00Z"),
        ("America/New_York", 1, "2026-11-01", "2026-11-01T05:00:00Z"),
        ("America/Santiago", 0, "2026-09-06", "2026-09-06T04:00:00Z"),
    ]) func `Snap windows (PW-2)`(zone: String, hour: Int, date: String, opens: String) throws {
        let window = SnapWindow(startHour: hour, on: day(date), in: try #require(Zone(zone)))
        #expect(window.opensAt == moment(opens))
        #expect(window.closesAt == moment(opens) + .hours(2))
    }

    @Test func `What a home screen and a late snap learn of the window (PW-2, PW-3)`() {
        var window = SnapWindow.current(startHour: 10, in: .utc, at: moment("2026-05-01T11:00:00Z"))
        #expect(
            window.isOpen(at: moment("2026-05-01T11:00:00Z")) && window.secondsLeft(at: moment("2026-05-01T11:00:00Z")) == 3_600
        )
        window = SnapWindow.current(startHour: 10, in: .utc, at: moment("2026-05-01T12:00:00Z"))
        #expect(window.secondsLeft(at: moment("2026-05-01T12:00:00Z")) == 22 * 3_600)
        let onTime = ["09:29:59", "09:30:00", "12:30:00", "12:30:01"].map {
            SnapWindow.isOnTime(moment("2026-05-01T\($0)Z"), startHour: 10, in: .utc)
        }
        #expect(onTime == [false, true, true, false])
        // A window from 23:00 runs into the next date.
        #expect(SnapWindow.isOnTime(moment("2026-05-02T01:30:00Z"), startHour: 23, in: .utc))
    }

    @Test func `The push's minute lies in the first hour of the window, differs between users and is the same again`() {
        let window = SnapWindow(startHour: 10, on: day("2026-05-01"), in: .utc)
        let minutes = (1...500).map { window.pushAt(user: UserID(high: 0, low: $0), on: day("2026-05-01")) }
        #expect(minutes.allSatisfy { $0 >= window.opensAt && $0 < window.opensAt + .hours(1) })
        #expect(Set(minutes).count > 50)
        #expect(minutes[0] == window.pushAt(user: UserID(high: 0, low: 1), on: day("2026-05-01")))
    }
}
