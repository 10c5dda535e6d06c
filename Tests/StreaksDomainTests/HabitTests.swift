import Kernel
import Testing

@testable import StreaksDomain

/// HA-3, HA-8 … HA-14 by the engine, rule by rule. 2026-05-04 is a Monday.
@Suite struct HabitTests {
    /// A life in UTC from 8 o'clock on that date.
    static func life(
        _ schedule: Schedule = .daily,
        from date: String = "2026-05-04",
        target: Amount? = nil,
        weekStart: Int = 1
    ) -> HabitLife {
        HabitLife(.utc, from: moment("\(date)T08:00:00Z")) {
            HabitEntries.Version(from: $0, schedule: schedule, target: target, weekStart: weekStart)
        }
    }

    @Test func `A week is at risk from six hours before the last date that can still keep it, and not when it is lost`() throws {
        var life = Self.life(.timesPerWeek(3))
        try life.done("2026-05-04", "2026-05-05", "2026-05-06")
        // 0 of 3 in the next week: Friday is the last chance, not Sunday.
        var state = try life.settle("2026-05-15T12:00:00Z")
        #expect(state.atRiskFrom == moment("2026-05-15T18:00:00Z") && !state.isAtRisk)
        state = try life.settle("2026-05-15T18:30:00Z")
        #expect(state.isAtRisk && state.habit?.week?.cannotWait == true)
        state = try life.settle("2026-05-16T00:00:00Z")
        #expect(!state.isAtRisk && state.atRiskFrom == nil && state.habit?.week?.cannotWait == false)
        // Lost on Saturday, it breaks only at its end.
        #expect(state.count == 1 && state.status == .active)
        #expect(try life.settle("2026-05-18T00:00:00Z").count == 0)
        #expect(life.runs.map(\.end) == [.missed(day("2026-05-17"))])
    }

    @Test func `Schedules of nothing or out of bounds are refused`() {
        let bad: [Schedule] = [
            .weekdays([]), .weekdays([7]), .everyNthDate(0, from: day("2026-05-04")), .everyNthDate(366, from: day("2026-05-04")),
            .daysOfMonth([]), .daysOfMonth([32]), .timesPerWeek(0), .timesPerWeek(8),
        ]
        for schedule in bad {
            var life = Self.life()
            #expect(life.refusal("2026-05-04T12:00:00Z", .changeHabit(schedule, target: nil, weekStart: 1)) == "VALIDATION_ERROR")
        }
        var life = Self.life()
        #expect(life.refusal("2026-05-04T12:00:00Z", .changeHabit(.daily, target: .zero, weekStart: 1)) == "VALIDATION_ERROR")
        #expect(life.refusal("2026-05-04T12:00:00Z", .changeHabit(.daily, target: nil, weekStart: 7)) == "VALIDATION_ERROR")
    }

    @Test func `Seven times a week takes every date and is not cut down to fewer`() throws {
        var life = Self.life(.timesPerWeek(7))
        for day in 4...9 { try life.done("2026-05-0\(day)") }
        #expect(try life.settle("2026-05-10T12:00:00Z").count == 0)
        try life.done("2026-05-10")
        #expect(try life.settle("2026-05-10T13:00:00Z").count == 1)
    }

    @Test func `Joining runs moves the first date and reports no milestone twice, nor one of a date before yesterday`() throws {
        var life = Self.life()
        for day in 4...9 { try life.done("2026-05-0\(day)") }
        for day in 11...16 { try life.done("2026-05-\(day)") }
        let reported = try life.done("2026-05-17")
        #expect(reported == [7])
        // The tenth is done after all: the run has 14 dates, and its seventh was the tenth.
        #expect(try life.edit("2026-05-17T13:00:00Z", .complete(id(99), on: day("2026-05-10"), nil)) == [])
        #expect(life.state?.count == 14)
        // Deleting a date inside the run and doing it again reports nothing.
        #expect(try life.edit("2026-05-17T14:00:00Z", .delete(id(12), on: day("2026-05-12"))) == [])
        #expect(life.state?.count == 5 && life.state?.longest == 8)
        #expect(try life.edit("2026-05-17T15:00:00Z", .complete(id(98), on: day("2026-05-12"), nil)) == [])
        #expect(life.state?.count == 14 && life.state?.longest == 14)
        // After a break it is reported again.
        try life.settle("2026-05-19T12:00:00Z")
        for day in 19...24 { #expect(try life.done("2026-05-\(day)") == []) }
        #expect(try life.done("2026-05-25") == [7])
    }

    @Test
    func `Missed, missed at count 0, skipped, paused, archived, not due, partial and extra are statuses of their own`()
        throws
    {
        var life = Self.life(.weekdays([1, 2, 3, 4, 5]), target: Amount(thousandths: 3000))
        try life.edit("2026-05-05T12:00:00Z", .complete(id(1), on: day("2026-05-05"), Amount(thousandths: 3000)))
        try life.edit("2026-05-06T12:00:00Z", .skip(day("2026-05-06")))
        try life.edit("2026-05-07T12:00:00Z", .complete(id(2), on: day("2026-05-07"), Amount(thousandths: 1000)))
        try life.edit("2026-05-09T12:00:00Z", .complete(id(3), on: day("2026-05-09"), Amount(thousandths: 3000)))
        try life.act("2026-05-11T12:00:00Z", .pauseHabit(from: day("2026-05-11"), until: day("2026-05-12")))
        try life.act("2026-05-12T12:00:00Z", .archive)
        try life.act("2026-05-13T12:00:00Z", .unarchive)
        try life.settle("2026-05-13T12:00:00Z")
        let statuses = (4...13).map { life.days[day("2026-05-\($0 < 10 ? "0" : "")\($0)")]?.status }
        #expect(statuses == [.missed, .done, .skipped, .partial, .missed, .extra, .notDue, .paused, .archived, .open])
        #expect(life.days.filter(\.value.brokeRun).map(\.key) == [day("2026-05-07")])
    }

    @Test func `Rows behind the checkpoint stay what a recount says after an old completion is deleted`() throws {
        var life = Self.life(from: "2026-01-01")
        for offset in 0..<120 { try life.done("\(day("2026-01-01").advanced(by: offset))") }
        #expect(life.state?.count == 120 && life.reloads == 0)
        try life.edit("2026-04-30T13:00:00Z", .delete(id(120), on: day("2026-02-10")))
        #expect(life.reloads == 1 && life.state?.count == 79 && life.state?.longest == 79)
        #expect(life.runs.map(\.count) == [40, 79] && life.days[day("2026-02-10")]?.status == .missed)
        #expect(fold(life.whole, .habit, at: moment("2026-04-30T13:00:00Z")).habit?.days == life.days)
    }

    @Test func `A date has at most 100 completions, counted as the earlier edits of the same change left them`() throws {
        var life = Self.life(target: Amount(thousandths: 1_000_000))
        let today = day("2026-05-04")
        func completions(_ ids: ClosedRange<Int>) -> [HabitEdit] {
            ids.map { .complete(id($0), on: today, Amount(thousandths: 1000)) }
        }
        var edits = completions(1...100)
        // The repeat of one that is there adds none; what is deleted makes room for one.
        edits += completions(7...7) + [.delete(id(1), on: today)] + completions(101...102)
        let change = try life.act("2026-05-04T12:00:00Z", .edit(edits))
        #expect(change.refused.mapValues(\.reason) == [103: "TOO_MANY_COMPLETIONS"])
        #expect(life.whole.contributions[today]?.count == 100)
    }

    @Test func `A habit has at most 1,000 pauses and as many times in the archive, and can be archived all the same`() throws {
        var life = Self.life()
        let today = day("2026-05-04")
        func refusal(_ command: StreakCommand) -> String? {
            do { try life.act("2026-05-04T12:00:00Z", command) } catch { return (error as? ServiceError)?.reason ?? "\(error)" }
            return nil
        }
        life.ledger.pauses = (1...1_000).map {
            StreakLedger.Pause(at: moment("2026-05-04T09:00:00Z") - Interval(microseconds: Int64($0)), from: today, until: today)
        }
        #expect(refusal(.pauseHabit(from: today, until: today.advanced(by: 2))) == "QUOTA_EXCEEDED")
        life.ledger.pauses.removeLast()
        #expect(refusal(.pauseHabit(from: today, until: today.advanced(by: 2))) == nil)
        life.ledger.habit?.archivings = Array(repeating: HabitEntries.Archiving(from: today, until: today), count: 999)
        #expect(refusal(.archive) == nil)
        #expect(refusal(.unarchive) == "QUOTA_EXCEEDED")
    }

    @Test func `A change holds from today, from tomorrow when today is done, and the past stays as it was judged`() throws {
        var life = Self.life(target: Amount(thousandths: 3000))
        try life.edit("2026-05-04T12:00:00Z", .complete(id(1), on: day("2026-05-04"), nil))
        try life.act("2026-05-04T13:00:00Z", .changeHabit(.daily, target: Amount(thousandths: 9000), weekStart: 1))
        try life.settle("2026-05-05T12:00:00Z")
        #expect(
            life.days[day("2026-05-04")]?.target == Amount(thousandths: 3000) && life.days[day("2026-05-05")]?.target?.value == 9
        )
        try life.edit("2026-05-05T12:00:00Z", .complete(id(2), on: day("2026-05-05"), Amount(thousandths: 4000)))
        try life.act("2026-05-05T13:00:00Z", .changeHabit(.daily, target: Amount(thousandths: 4000), weekStart: 1))
        #expect(life.state?.count == 2)
    }

    @Test func `Between dates and weeks the run ends without a break, and both longest runs are kept`() throws {
        var life = Self.life()
        for day in 4...8 { try life.done("2026-05-0\(day)") }
        try life.act("2026-05-09T12:00:00Z", .changeHabit(.timesPerWeek(1), target: nil, weekStart: 0))
        #expect(life.state?.status == .active && life.state?.count == 0)
        try life.done("2026-05-10", "2026-05-17")
        #expect(life.state?.count == 2 && life.state?.longest == 2)
        #expect(life.state?.habit?.longestDates == 5 && life.state?.habit?.longestWeeks == 2)
        #expect(life.runs.first?.end == .scheduleChanged(day("2026-05-09")))
    }

    @Test func `Another target or week start does not shift every third date, another step does`() throws {
        var life = Self.life(.everyNthDate(3, from: day("2026-05-04")))
        func every(_ step: Int, _ target: Amount?) -> StreakCommand {
            .changeHabit(.everyNthDate(step, from: day("2000-01-01")), target: target, weekStart: 0)
        }
        try life.act("2026-05-06T12:00:00Z", every(3, Amount(thousandths: 1)))
        try life.settle("2026-05-08T12:00:00Z")
        #expect((6...8).map { life.days[day("2026-05-0\($0)")]?.status } == [.notDue, .missed, .notDue])
        try life.act("2026-05-08T12:00:00Z", every(2, nil))
        try life.settle("2026-05-10T12:00:00Z")
        #expect((8...9).map { life.days[day("2026-05-0\($0)")]?.status } == [.missed, .notDue])
    }

    @Test func `An earlier completion moves the start, and without it the start moves back again`() throws {
        var life = Self.life(from: "2026-05-10")
        try life.edit("2026-05-10T12:00:00Z", .complete(id(1), on: day("2026-05-05"), nil))
        #expect(life.state?.habit?.startsOn == day("2026-05-05") && life.days[day("2026-05-06")]?.status == .missed)
        try life.edit("2026-05-10T13:00:00Z", .delete(id(1), on: day("2026-05-05")))
        #expect(life.state?.habit?.startsOn == day("2026-05-10") && life.days.count == 1)
    }

    @Test func `Edits come to the same at once and one by one, also where they move the start`() throws {
        let (early, skipped) = (day("2026-05-08"), day("2026-05-09"))
        let edits: [HabitEdit] = [.delete(id(1), on: early), .skip(skipped), .complete(id(2), on: early, nil), .skip(skipped)]
        var refusals: [[Int]] = []
        for isOneByOne in [false, true] {
            var life = Self.life(from: "2026-05-10")
            try life.edit("2026-05-10T12:00:00Z", .complete(id(1), on: early, nil))
            var refused: [Int] = []
            if isOneByOne {
                for (index, edit) in edits.enumerated() {
                    let change = try life.act("2026-05-10T13:00:00Z", .edit([edit], earliest: nil))
                    if change.refused[0]?.reason == "DATE_NOT_DUE" { refused.append(index) }
                }
            } else {
                let change = try life.act("2026-05-10T13:00:00Z", .edit(edits, earliest: nil))
                refused = change.refused.filter { $0.value.reason == "DATE_NOT_DUE" }.map(\.key).sorted()
            }
            refusals.append(refused)
        }
        #expect(refusals == [[1], [1]])
    }

    @Test func `Dates that take completions`() throws {
        var life = Self.life(.weekdays([1]), from: "2026-01-05")
        func refused(_ edit: HabitEdit, earliest: CalendarDate? = nil) throws -> String? {
            try life.act("2026-05-11T12:00:00Z", .edit([edit], earliest: earliest)).refused[0]?.reason
        }
        #expect(try refused(.complete(id(1), on: day("2026-05-12"), nil)) == "DATE_IN_FUTURE")
        #expect(try refused(.complete(id(1), on: day("2026-05-03"), nil)) == "DATE_TOO_OLD")
        let old = try life.act("2026-05-11T12:00:00Z", .edit([.complete(id(1), on: day("2026-05-03"), nil)], earliest: nil))
        #expect(old.refused[0]?.message == "This date is too long ago: the earliest is 2026-05-04.")
        #expect(try refused(.skip(day("2026-05-05"))) == "DATE_NOT_DUE")
        #expect(try refused(.delete(id(1), on: day("2026-05-04"))) == "COMPLETION_NOT_FOUND")
        #expect(try refused(.complete(id(1), on: day("2026-05-04"), nil)) == nil)
        #expect(try refused(.skip(day("2026-05-04"))) == nil)
        let rules = try #require(StreakPolicy.habit.habits)
        let earliest = rules.earliestDate(lastSync: day("2026-03-01"), today: day("2026-05-11"))
        #expect(earliest == day("2026-02-22"))
        #expect(try refused(.complete(id(2), on: earliest, nil), earliest: earliest) == nil)
        #expect(rules.earliestDate(lastSync: nil, today: day("2026-05-11")) == day("2026-05-04"))
        #expect(rules.earliestDate(lastSync: day("2020-01-01"), today: day("2026-05-11")) == day("2025-05-10"))
    }

    @Test func `Amounts are exact to a thousandth, summed, and completed by what is missing`() throws {
        for wrong in [0, -1, .nan, .infinity, 1e9 + 1, 0.0001, 0.1235] as [Double] {
            #expect(throws: ServiceError.self) { try Amount(wrong, field: "value") }
        }
        #expect(try Amount(1e9, field: "value") == .largest)
        var life = Self.life(target: try Amount(0.3, field: "target"))
        for (number, value) in [0.1, 0.2].enumerated() {
            let amount = try Amount(value, field: "value")
            try life.edit("2026-05-04T12:00:00Z", .complete(id(number), on: day("2026-05-04"), amount))
        }
        #expect(life.state?.count == 1)
        try life.edit("2026-05-04T13:00:00Z", .delete(id(0), on: day("2026-05-04")))
        try life.edit("2026-05-04T13:00:00Z", .complete(id(5), on: day("2026-05-04"), nil))
        #expect(life.ledger.completion(id(5), on: day("2026-05-04"))?.amount?.value == 0.1 && life.state?.count == 1)
    }

    @Test func `One edit of a sync that is refused fails alone`() throws {
        var life = Self.life()
        let change = try life.act(
            "2026-05-04T12:00:00Z",
            .edit([.complete(id(1), on: day("2026-05-05"), nil), .complete(id(2), on: day("2026-05-04"), nil)])
        )
        #expect(change.refused.mapValues(\.reason) == [0: "DATE_IN_FUTURE"] && change.state.count == 1)
    }

    @Test func `Pauses begin today or later, last at most 90 dates and do not overlap; one to come can be taken back`() throws {
        var life = Self.life()
        let now = "2026-05-04T12:00:00Z"
        func pause(_ from: String, _ dates: Int) -> StreakCommand {
            .pauseHabit(from: day(from), until: day(from).advanced(by: dates))
        }
        #expect(life.refusal(now, pause("2026-05-03", 2)) == "VALIDATION_ERROR")
        #expect(life.refusal(now, pause("2026-05-10", 91)) == "PAUSE_TOO_LONG")
        #expect(life.refusal(now, .resumeHabit) == "NOT_PAUSED")
        try life.act(now, pause("2026-05-10", 90))
        #expect(life.refusal(now, pause("2026-05-08", 3)) == "ALREADY_PAUSED")
        try life.act(now, .resumeHabit)
        try life.act(now, pause("2026-05-08", 3))
        let story = try Story(.checkIn, ["UTC"])
        #expect(story.refusal("2026-05-04T12:00:00Z", .archive) == "NO_HABIT")
        #expect(story.refusal("2026-05-04T12:00:00Z", .edit([.skip(day("2026-05-04"))])) == "NO_HABIT")
    }

    @Test func `Ten years of a habit are loaded and edited from the start in less than a fifth of a second`() throws {
        var life = Self.life(.daily, from: "2016-05-04")
        let start = day("2016-05-04")
        let all = (0..<3652).map { HabitEdit.complete(id($0), on: start.advanced(by: $0), nil) }
        try life.act("2026-05-04T12:00:00Z", .edit(all, earliest: start))
        #expect(life.state?.count == 3652)
        let whole = life.whole
        // In processor time: other tests run beside it.
        let spent = try (0..<5).map { _ in
            let before = secondsOfThisThread()
            let change = try whole.applying(
                .edit([.delete(id(7), on: start.advanced(by: 7))]),
                .habit,
                at: moment("2026-05-04T13:00:00Z"),
                settledAt: moment("2026-05-04T12:00:00Z")
            )
            #expect(change.state.count == 3644)
            return secondsOfThisThread() - before
        }
        #expect((spent.min() ?? 1) < 0.2, "\(spent)")
    }
}

func id(_ number: Int) -> CompletionID { CompletionID(high: 3, low: UInt64(number)) }

extension HabitLife {
    var state: StreakState? { settledAt.map { fold(ledger, .habit, at: $0) } }

    @discardableResult
    mutating func act(_ time: String, _ command: StreakCommand) throws -> StreakChange { try apply(command, at: moment(time)) }

    @discardableResult
    mutating func settle(_ time: String) throws -> StreakState { try act(time, .settle).state }

    /// - Returns: the milestones that were reported.
    @discardableResult
    mutating func edit(_ time: String, _ edit: HabitEdit) throws -> [Int] {
        try act(time, .edit([edit])).effects.compactMap { if case .milestone(let count, _, _, _) = $0 { count } else { nil } }
    }

    /// Completes these dates at noon, each on itself, with the number of its day in the month, or of the year, as id.
    @discardableResult
    mutating func done(_ dates: String...) throws -> [Int] {
        try dates.flatMap { date in
            let first = CalendarDate(year: day(date).components.year, month: 1, day: 1) ?? day(date)
            let number = day(date).components.month == 5 ? day(date).components.day : first.distance(to: day(date)) + 80
            return try edit("\(date)T12:00:00Z", .complete(CompletionID(high: 3, low: UInt64(number)), on: day(date), nil))
        }
    }

    mutating func refusal(_ time: String, _ command: StreakCommand) -> String? {
        do throws(ServiceError) {
            try apply(command, at: moment(time))
            return nil
        } catch {
            return error.reason
        }
    }
}
