internal import Bus
internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The detail screen of a habit, from one group of statements.
struct GetHabit: QueryHandler {
    let habits: HabitStore

    /// How many other habits are shown beside it.
    private static let mostRelated = 10

    func handle(_ request: GetHabitRequest, _ context: CallContext) async throws -> GetHabitReply {
        let (user, id) = (try context.requireUser(), request.habitID)
        let date = try await habits.refresh(user, context)
        let month = CalendarMonth(containing: date.today)
        let queries =
            [
                DayRepository.query(of: user, .on(date.today), .init(including: id)),
                DetailReads.days(of: id, user, in: month.dates),
                DetailReads.completions(of: id, user, on: date.today),
                DetailReads.totals(of: id, user),
                DetailReads.bestRuns(of: id, user),
                DetailReads.milestones(of: id, user),
                HabitReads.lastDays(of: user, until: date.today),
            ] + HabitRepository.queries(of: user, DetailReads.withRelated(id, of: user))
        let rows = try await habits.database.query(together: queries)
        let records = try HabitRepository.assemble(Array(rows.suffix(3)))
        guard let record = records.first(where: { $0.id == id }) else { throw ServiceError.habitNotFound }
        let day = HabitScreenDay(date: date.today, clock: date, rows: try rows[0].map(DayRepository.habit), note: nil)
        guard let row = day.rows.first(where: { $0.id == id }) else { throw ServiceError.habitNotFound }
        let shown = day.shown.first { $0.row.id == id }
        let totals = try DetailReads.totals(rows[3])
        let lastDays = try HabitReads.lastDays(rows[6])
        let category = try await category(of: record, user)
        return GetHabitReply(
            habit: Habit(record, date),
            category: category,
            today: TodayHabit(row, shown?.habit, on: date.today, date),
            completionsToday: try rows[2].map { HabitCompletion(try CompletionRecord($0)) },
            month: HabitMonth(
                month,
                try DetailReads.days(rows[1]),
                today: date.today,
                archivedAfter: record.isArchived ? record.asOf : nil
            ),
            daysDone: Int32(clamping: totals.datesDone),
            totalCompletions: Int32(clamping: totals.completions),
            totalValue: totals.value.value,
            bestRun: try DetailReads.runs(rows[4]).first { $0.unit == record.unit }.map { HabitBestRun($0) },
            milestones: HabitMilestones(record, try DetailReads.milestones(rows[5])),
            related: records.filter { $0.id != id }.prefix(Self.mostRelated).map { other in
                HabitItem(other, lastDays: lastDays.squares(of: other.streak, until: date.today), date)
            }
        )
    }

    private func category(of record: HabitRecord, _ user: UserID) async throws -> HabitCategory? {
        guard let id = record.details.category else { return nil }
        return try await HabitAccountRepository.categories(of: user, habits.database).first { $0.id == id }.map {
            HabitCategory($0)
        }
    }
}
