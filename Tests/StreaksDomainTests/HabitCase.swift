import Foundation
import Kernel
import StreaksDomain

/// The lives of habits that `habit_model.py` makes, with what it expects of them.
struct HabitCases: Decodable {
    var cases: [HabitCase]
}

struct HabitCase: Decodable {
    struct Rules: Decodable {
        struct Days: Decodable {
            var daily: Bool?
            var weekdays: Set<Int>?
            var every_n_days: Int?
            var days_of_month: Set<Int>?
            var times_per_week: Int?
        }

        var schedule: Days
        var target: Int64?
        var week_start: Int
    }

    struct Step: Decodable {
        var at: String
        var reported: [Int]
        var expect: Expectation?
        var error: String?
        var edit: [[JSON]]?
        var earliest: String?
        var refused: [String: String]?
        var change: Rules?
        var pause: [String]?
        var resume: Bool?
        var archive: Bool?
        var zone: String?
        var outage: [String]?
    }

    struct Expectation: Decodable {
        var count: Int
        var unit: String
        var longest: [Int]
        var start: String
        /// Date, status, value, whether a run broke on it.
        var days: [[JSON]]
        /// First and last date, done, excused, needed, left, whether it is cut.
        var week: [JSON]?
        /// By name: done, counted, trend.
        var windows: [String: [JSON]]
        var grade: [JSON]?
        var outcomes: [String: String]
        /// First and last date, count, unit, why and when it ended.
        var runs: [[JSON]]
        var risk: String?
    }

    /// A value of a list of mixed ones.
    enum JSON: Decodable, Hashable {
        case text(String)
        case number(Double)
        case bool(Bool)
        case null

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else {
                self = .text(try container.decode(String.self))
            }
        }

        var string: String? { if case .text(let text) = self { text } else { nil } }
        var double: Double? { if case .number(let number) = self { number } else { nil } }
        var int: Int? { double.map { Int($0) } }
    }

    var name: String
    var zone: String
    var at: String
    var version: Rules
    var steps: [Step]
}

extension HabitCase.Rules {
    func starting(_ date: CalendarDate) -> HabitEntries.Version {
        HabitEntries.Version(
            from: date,
            schedule: schedule.value(from: date),
            target: target.map(Amount.init(thousandths:)),
            weekStart: week_start
        )
    }
}

extension HabitCase.Rules.Days {
    func value(from date: CalendarDate) -> Schedule {
        if let weekdays { return .weekdays(weekdays) }
        if let every_n_days { return .everyNthDate(every_n_days, from: date) }
        if let days_of_month { return .daysOfMonth(days_of_month) }
        if let times_per_week { return .timesPerWeek(times_per_week) }
        return .daily
    }
}

extension HabitCase.Step {
    /// nil: only time passes.
    func command(_ user: UserID) -> StreakCommand {
        if let edit {
            return .edit(edit.compactMap(Self.edit), earliest: earliest.flatMap { CalendarDate($0) })
        }
        if let change {
            let schedule = change.schedule.value(from: CalendarDate(dayNumber: 0))
            return .changeHabit(schedule, target: change.target.map(Amount.init(thousandths:)), weekStart: change.week_start)
        }
        if let pause { return .pauseHabit(from: day(pause[0]), until: day(pause[1])) }
        if resume != nil { return .resumeHabit }
        if let archive { return archive ? .archive : .unarchive }
        if let zone, let place = Zone(zone) { return .changeZone(user, place) }
        if let outage { return .declareOutage(from: moment(outage[0]), until: moment(outage[1])) }
        return .settle
    }

    private static func edit(_ json: [HabitCase.JSON]) -> HabitEdit? {
        guard let what = json.first?.string, let date = json[1].string.map(day) else { return nil }
        func id() -> CompletionID { CompletionID(high: 3, low: UInt64(json[2].int ?? 0)) }
        func amount() -> Amount? { json[3].int.map { Amount(thousandths: Int64($0)) } }
        return switch what {
        case "complete": .complete(id(), on: date, amount())
        case "change": .change(id(), on: date, amount())
        case "delete": .delete(id(), on: date)
        case "skip": .skip(date)
        case "unskip": .unskip(date)
        default: nil
        }
    }
}

extension HabitDay.Status {
    /// Its name in the model and in prose.
    var name: String {
        switch self {
        case .done: "done"
        case .partial: "partial"
        case .missed: "missed"
        case .open: "open"
        case .skipped: "skipped"
        case .paused: "paused"
        case .archived: "archived"
        case .excused: "excused"
        case .notDue: "not_due"
        case .extra: "extra"
        case .free: "free"
        }
    }
}
