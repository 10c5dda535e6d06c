import BillingAPI
import Bus
import Database
import Kernel
import Outbox
import Replicas
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksHabitStatistics
@testable import StreaksService

/// Habits of one user on a database of its own, and what statistics say of them.
struct HabitStatisticsWorld {
    let base: World
    let habits: HabitStore
    let user: UserID
    let ids = UUIDv7Source(clock: SystemClock())

    var database: Database { base.database }
    var context: CallContext { World.by(user) }
    var reader: StatisticsReader { StatisticsReader(habits: habits) }
    var today: CalendarDate { Zone.utc.date(at: base.clock.now()) }

    @discardableResult
    func change<Result: Sendable>(_ body: @escaping @Sendable (HabitBook) async throws -> Result) async throws -> Result {
        let (habits, user) = (habits, user)
        return try await base.work.run(trace: "", requestID: "") { work in try await body(try await habits.open(user, work)) }
    }

    func create(
        _ name: String,
        _ schedule: Schedule = .daily,
        target: Int64? = nil,
        category: HabitCategoryID? = nil
    ) async throws -> HabitID {
        let details = try HabitDetails(name: name, category: category, unit: target == nil ? "" : "pages")
        return try await change { book in
            try await book.create(
                HabitBook.NewHabit(details, schedule: schedule, target: target.map { Amount(thousandths: $0 * 1_000) })
            )
        }
    }

    /// Completes dates, of whatever age.
    ///
    /// - Parameters:
    ///   - amount: in whole units.
    ///   - minute: of the day, when it was really done then.
    func complete(_ habit: HabitID, on dates: [CalendarDate], _ amount: Int64? = nil, minute: Int? = nil) async throws {
        let edits: [(id: CompletionID, edit: HabitEdit)] = dates.map { date in
            let id: CompletionID = ids.make()
            return (id, .complete(id, on: date, amount.map { Amount(thousandths: $0 * 1_000) }))
        }
        let details = CompletionDetails(doneAt: minute.map { _ in base.clock.now() }, minute: minute)
        try await edit(habit, edits.map(\.edit), Dictionary(uniqueKeysWithValues: edits.map { ($0.id, details) }))
    }

    func edit(_ habit: HabitID, _ edits: [HabitEdit], _ details: [CompletionID: CompletionDetails] = [:]) async throws {
        let outcome = try await change { book in
            let earliest = CalendarDate(dayNumber: 0)
            return try await book.edit(try await book.lock(habit), HabitBook.Edits(edits, details: details, earliest: earliest))
        }
        #expect(outcome.refused.isEmpty, "\(outcome.refused)")
    }

    /// The rows of a habit, as they are stored.
    func days(_ habit: HabitID) async throws -> [(date: CalendarDate, day: HabitDay)] {
        try await database.query(
            """
            SELECT on_date, \(HabitDay.columns) FROM habit_day
            WHERE streak_id = (SELECT streak_id FROM habit WHERE user_id = \(user) AND id = \(habit)) ORDER BY on_date
            """
        ).map { (try $0.get(at: 0), try HabitDay($0, at: 1)) }
    }

    func overview(_ period: String = "", sort: String = "", _ categories: [HabitCategoryID] = []) async throws
        -> GetStatisticsOverviewReply
    {
        try await GetStatisticsOverview(reader: reader).handle(
            GetStatisticsOverviewRequest(period: period, sort: sort, categoryID: categories),
            context
        )
    }

    func statistics(_ habit: HabitID, _ period: String = "") async throws -> GetHabitStatisticsReply {
        let request = GetHabitStatisticsRequest(habitID: habit, period: period)
        return try await GetHabitStatistics(reader: reader).handle(request, context)
    }

    func insights() async throws -> GetInsightsOverviewReply {
        try await GetInsightsOverview(reader: reader).handle(GetInsightsOverviewRequest(), context)
    }

    func insights(_ habit: HabitID) async throws -> GetHabitInsightsReply {
        try await GetHabitInsights(reader: reader).handle(GetHabitInsightsRequest(habitID: habit), context)
    }

    func calendar(month: String = "", year: Int32? = nil) async throws -> GetHabitsCalendarReply {
        let request = GetHabitsCalendarRequest(month: month, year: year)
        return try await GetHabitsCalendar(reader: reader).handle(request, context)
    }

    /// The code, and the fields that are named.
    func refusal(_ body: () async throws -> Void) async -> String? {
        do { try await body() } catch let error as ServiceError {
            return ([error.reason] + error.details.map(\.field)).joined(separator: " ")
        } catch {
            return "\(error)"
        }
        return nil
    }

    /// The dates that end today, the last one last.
    func last(_ count: Int) -> [CalendarDate] { (0..<count).map { today.advanced(by: $0 + 1 - count) } }
}

/// On Sunday, 31 May 2026 at noon.
nonisolated(nonsending) func withHabitStatistics(
    premium: Bool = true,
    _ body: (HabitStatisticsWorld) async throws -> Void
) async throws {
    try await withWorld(at: "2026-05-31T12:00:00Z") { world in
        let core = StreaksCore(
            database: world.database,
            bus: NoServices(),
            avatars: AvatarLinks(base: ""),
            StreaksModule.extensions
        )
        let user = try await world.person(1)
        if premium { try await world.premium(user) }
        try await body(HabitStatisticsWorld(base: world, habits: HabitStore(core, work: world.work), user: user))
    }
}
