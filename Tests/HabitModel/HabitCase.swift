package import Kernel
package import StreaksDomain

/// The lives of habits that `habit_model.py` makes, with what it expects of them.
package struct HabitCases: Decodable {
    package var cases: [HabitCase]
}

package struct HabitCase: Decodable {
    package struct Rules: Decodable {
        package struct Days: Decodable {
            package var daily: Bool?
            package var weekdays: Set<Int>?
            package var every_n_days: Int?
            package var days_of_month: Set<Int>?
            package var times_per_week: Int?
        }

        package var schedule: Days
        package var target: Int64?
        package var week_start: Int
    }

    package struct Step: Decodable {
        package var at: String
        package var reported: [Int]
        package var expect: Expectation?
        package var error: String?
        package var edit: [[JSON]]?
        package var earliest: String?
        package var refused: [String: String]?
        package var change: Rules?
        package var pause: [String]?
        package var resume: Bool?
        package var archive: Bool?
        package var zone: String?
        package var outage: [String]?
    }

    package struct Expectation: Decodable {
        package var count: Int
        package var unit: String
        package var longest: [Int]
        package var start: String
        /// Date, status, value, whether a run broke on it.
        package var days: [[JSON]]
        /// First and last date, done, excused, needed, left, whether it is cut.
        package var week: [JSON]?
        /// By name: done, counted, trend.
        package var windows: [String: [JSON]]
        package var grade: [JSON]?
        package var outcomes: [String: String]
        /// First and last date, count, unit, why and when it ended.
        package var runs: [[JSON]]
        package var risk: String?
    }

    /// A value of a list of mixed ones.
    package enum JSON: Decodable, Hashable {
        case text(String)
        case number(Double)
        case bool(Bool)
        case null

        package init(from decoder: any Decoder) throws {
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

        package var string: String? { if case .text(let text) = self { text } else { nil } }
        package var double: Double? { if case .number(let number) = self { number } else { nil } }
        package var int: Int? { double.map { Int($0) } }
    }

    package var name: String
    package var zone: String
    package var at: String
    package var version: Rules
    package var steps: [Step]
}

extension HabitCase.Rules {
    package func starting(_ date: CalendarDate) -> HabitEntries.Version {
        HabitEntries.Version(
            from: date,
            schedule: schedule.value(from: date),
            target: target.map(Amount.init(thousandths:)),
            weekStart: week_start
        )
    }
}

extension HabitCase.Rules.Days {
    package func value(from date: CalendarDate) -> Schedule {
        if let weekdays { return .weekdays(weekdays) }
        if let every_n_days { return .everyNthDate(every_n_days, from: date) }
        if let days_of_month { return .daysOfMonth(days_of_month) }
        if let times_per_week { return .timesPerWeek(times_per_week) }
        return .daily
    }
}

extension HabitCase.Step {
    /// nil: only time passes.
    package func command(_ user: UserID) -> StreakCommand {
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
    package var name: String {
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

func day(_ text: String) -> CalendarDate { CalendarDate(text) ?? CalendarDate(dayNumber: 0) }
func moment(_ text: String) -> Instant { Instant(rfc3339: text) ?? .epoch }
