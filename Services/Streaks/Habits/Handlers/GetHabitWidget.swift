internal import Bus
internal import Database
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Everything of a widget, for premium users (HA-17).
struct GetHabitWidget: QueryHandler {
    let reader: HabitDayReader

    /// How many habits the medium widget has room for.
    private static let listed = 4

    func handle(_ request: GetHabitWidgetRequest, _ context: CallContext) async throws -> GetHabitWidgetReply {
        let (user, habits) = (try context.requireUser(), reader.habits)
        guard try await EntitlementReplica().isPremium(user, now: habits.work.now(), habits.database) else {
            throw ServiceError.premiumHabits("The widget")
        }
        let selection = DayRepository.Selection(categories: request.categoryID)
        let day = try await reader.day(nil, of: user, selection, context)
        let shown = day.inOrder
        let (open, rest) = (shown.filter { !$0.isDone }, shown.filter(\.isDone))
        return GetHabitWidgetReply(
            today: day.date,
            progress: HabitsProgress(day.summary),
            list: (open + rest).prefix(Self.listed).map { WidgetHabit($0) },
            habits: shown.map { WidgetHabit($0) },
            week: try await week(day, user, selection)
        )
    }

    /// The week of today, by the user's first day of the week.
    private func week(_ today: HabitScreenDay, _ user: UserID, _ selection: DayRepository.Selection) async throws -> [WidgetDay] {
        let habits = reader.habits
        let account = try await HabitAccountRepository.find(user, at: habits.work.now(), habits.database)
        let first = today.date.advanced(by: -((today.date.weekday - account.settings.firstDayOfWeek + 7) % 7))
        let dates = first.advanced(by: -6)...today.date
        let queries = DayRepository.historyQueries(of: user, selection, in: dates)
        let histories = try DayRepository.histories(try await habits.database.query(together: queries))
        return (first...first.advanced(by: 6)).map { date in
            guard date < today.date else {
                return date == today.date ? WidgetDay(date, today.summary) : WidgetDay(date: date)
            }
            return WidgetDay(date, HabitDaySummary(today.habits(on: date, histories)))
        }
    }
}

extension HabitScreenDay.Shown {
    /// Whether nothing is left to do for it.
    fileprivate var isDone: Bool {
        switch habit.day.status {
        case .open, .partial, .free, .missed: false
        case .done, .skipped, .paused, .archived, .excused, .notDue, .extra: true
        }
    }
}

extension WidgetDay {
    fileprivate init(_ date: CalendarDate, _ summary: HabitDaySummary) {
        self.init(
            date: date,
            done: Int32(clamping: summary.done),
            total: Int32(clamping: summary.total),
            percent: Int32(clamping: summary.percent)
        )
    }
}
