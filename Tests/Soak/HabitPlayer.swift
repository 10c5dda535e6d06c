import Bus
import Kernel
import StreaksAPI

/// Does what people with habits do, and writes the answers as plans have them (`habits_plan.py`).
struct HabitPlayer: Sendable {
    /// What the verbs of habits begin with.
    static let prefix = "habit_"

    private let habits: HabitsClient
    private let statistics: HabitStatisticsClient

    init(_ bus: BusConnection) { (habits, statistics) = (HabitsClient(bus), HabitStatisticsClient(bus)) }

    /// - Returns: what the service says.
    /// - Throws: `ServiceError` of a refusal.
    func answer(_ act: PersonAct, _ context: CallContext) async throws -> String {
        let order = Order(act)
        switch act.verb.dropFirst(Self.prefix.count) {
        case "look": return try await look(order, context)
        case "rate": return try await rate(order, context)
        case "month": return try await month(order, context)
        case "done", "undo", "change", "skip", "unskip": return Self.text(try await entry(act, order, context))
        case "weeks":
            let request = UpdateHabitSettingsRequest(firstDayOfWeek: Int32(act.number(1)))
            return "\(try await habits.updateHabitSettings(request, context: context).firstDayOfWeek)"
        case "delete":
            _ = try await habits.deleteHabit(DeleteHabitRequest(habitID: order.habit), context: context)
            return "ok"
        default: return Self.text(try await changed(act, order, context))
        }
    }

    /// What an act is about.
    private struct Order {
        let habit: HabitID
        private let act: PersonAct

        init(_ act: PersonAct) {
            self.act = act
            let name = UInt64(act.user) << 16 + UInt64(act.number(0))
            habit = HabitID(high: 0x0190_0000_0000_7000, low: 0xC000_0000_0000_0000 + name)
        }

        /// The completion whose number among the person's is this argument.
        func completion(_ index: Int) -> CompletionID {
            let name = UInt64(act.user) << 24 + UInt64(act.number(index))
            return CompletionID(high: 0x0190_0000_0000_7000, low: 0xD000_0000_0000_0000 + name)
        }

        func text(_ index: Int) -> String { act.argument(index) }
        func amount(_ index: Int) -> Double? { Int(act.argument(index)).map { Double($0) / 1_000 } }

        /// "weekdays.1.5"
        func schedule(_ index: Int) -> HabitSchedule {
            let words = act.argument(index).split(separator: ".")
            let numbers = words.dropFirst().compactMap { Int32($0) }
            var schedule = HabitSchedule(type: words.first.map(String.init) ?? "")
            switch schedule.type {
            case "weekdays": schedule.weekdays = numbers
            case "every_n_days": schedule.every = numbers.first
            case "times_per_week": schedule.times = numbers.first
            case "days_of_month": schedule.days = numbers
            default: break
            }
            return schedule
        }
    }

    // MARK: changing

    private func changed(_ act: PersonAct, _ order: Order, _ context: CallContext) async throws -> Habit {
        let habit = order.habit
        switch act.verb.dropFirst(Self.prefix.count) {
        case "begin":
            let request = CreateHabitRequest(
                id: habit,
                name: "Habit \(act.number(0))",
                schedule: order.schedule(1),
                targetValue: order.amount(2)
            )
            return try await habits.createHabit(request, context: context)
        case "revise":
            let target = order.amount(2)
            let request = UpdateHabitRequest(
                habitID: habit,
                schedule: order.schedule(1),
                targetValue: target,
                clear: target == nil ? ["target_value"] : []
            )
            return try await habits.updateHabit(request, context: context)
        case "pause":
            guard let until = act.date(2) else { throw PlanError(line: "\(act)") }
            let request = PauseHabitRequest(habitID: habit, from: act.date(1), until: until)
            return try await habits.pauseHabit(request, context: context)
        case "resume": return try await habits.resumeHabit(ResumeHabitRequest(habitID: habit), context: context)
        case "archive": return try await habits.archiveHabit(ArchiveHabitRequest(habitID: habit), context: context)
        case "unarchive": return try await habits.unarchiveHabit(UnarchiveHabitRequest(habitID: habit), context: context)
        case "undelete": return try await habits.undeleteHabit(UndeleteHabitRequest(habitID: habit), context: context)
        default: throw PlanError(line: "\(act)")
        }
    }

    private func entry(_ act: PersonAct, _ order: Order, _ context: CallContext) async throws -> HabitEntryReply {
        let habit = order.habit
        switch act.verb.dropFirst(Self.prefix.count) {
        case "done":
            let request = CompleteHabitRequest(
                habitID: habit,
                id: order.completion(2),
                date: act.date(1),
                value: order.amount(3)
            )
            return try await habits.completeHabit(request, context: context)
        case "undo":
            let request = DeleteCompletionRequest(habitID: habit, completionID: order.completion(1))
            return try await habits.deleteCompletion(request, context: context)
        case "change":
            let value = order.amount(2)
            let request = UpdateCompletionRequest(
                habitID: habit,
                completionID: order.completion(1),
                value: value,
                clear: value == nil ? ["value"] : []
            )
            return try await habits.updateCompletion(request, context: context)
        case "skip": return try await habits.skipHabit(SkipHabitRequest(habitID: habit, date: act.date(1)), context: context)
        default: return try await habits.unskipHabit(UnskipHabitRequest(habitID: habit, date: act.date(1)), context: context)
        }
    }

    // MARK: reading

    private func look(_ order: Order, _ context: CallContext) async throws -> String {
        let shown = try await habits.getHabit(GetHabitRequest(habitID: order.habit), context: context)
        guard let habit = shown.habit else { return "nothing" }
        let week = shown.today?.week.map { "\($0.done):\($0.excused):\($0.needed):\($0.left)" } ?? "-"
        let reached = shown.milestones?.reached.map { "\($0.count)\($0.unit == .weeks ? "w" : "d")\($0.date)" } ?? []
        return "\(Self.text(habit)):\(habit.startDate);\(week);\(Self.list(reached))"
    }

    private func rate(_ order: Order, _ context: CallContext) async throws -> String {
        let request = GetHabitStatisticsRequest(habitID: order.habit, period: order.text(1))
        let shown = try await statistics.getHabitStatistics(request, context: context)
        let rate = shown.chart?.rate.map { "\($0.done)/\($0.due)" } ?? "0/0"
        return "\(rate);\(shown.consistency.map { "\($0.score):\($0.grade)" } ?? "-")"
    }

    private func month(_ order: Order, _ context: CallContext) async throws -> String {
        let request = GetHabitCalendarRequest(habitID: order.habit, month: order.text(1))
        let days = try await habits.getHabitCalendar(request, context: context).days
        let values = days.filter { $0.value != 0 }.map { day in
            "\("\(day.date)".suffix(2))=\(Self.thousandths(day.value))"
        }
        return "\(days.map { Self.letter($0.status) }.joined());\(Self.list(values))"
    }

    // MARK: answers as texts

    private static func text(_ habit: Habit) -> String {
        "\(habit.currentStreak):\(habit.streakUnit):\(habit.longestStreak):\(habit.archived ? 1 : 0)"
    }

    private static func text(_ entry: HabitEntryReply) -> String {
        let counts = "\(entry.currentStreak):\(entry.streakUnit):\(entry.longestStreak)"
        return "\(letter(entry.status)):\(thousandths(entry.value)):\(counts):\(entry.milestone ?? 0)"
    }

    private static func thousandths(_ value: Double) -> Int { Int((value * 1_000).rounded()) }

    private static func list(_ texts: [String]) -> String { texts.isEmpty ? "-" : texts.joined(separator: "+") }

    private static func letter(_ status: HabitSquare) -> String {
        switch status {
        case .none: "-"
        case .done: "d"
        case .partial: "p"
        case .missed: "m"
        case .open: "o"
        case .skipped: "s"
        case .paused: "z"
        case .archived: "a"
        case .excused: "e"
        case .notDue: "n"
        case .extra: "x"
        case .free: "f"
        case .unspecified, .unrecognized: "?"
        }
    }
}
