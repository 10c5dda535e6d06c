import AuthAPI
import BillingAPI
import Bus
import Database
import Kernel
import Replicas
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing
import Wire

@testable import Outbox
@testable import Runtime
@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksHabits
@testable import StreaksService

/// The habits of one user, on a database of its own.
struct HabitWorld {
    let database: Database
    let clock: ManualClock
    let work: UnitOfWorkFactory
    let mutations: Mutations
    let core: StreaksCore
    var user = UserID(high: 1, low: 1)

    var context: CallContext { World.by(user) }
    var habits: HabitStore { HabitStore(core, work: work) }
    var changes: HabitChanges { HabitChanges(habits: habits, mutations: mutations) }
    var accounts: HabitAccounts { HabitAccounts(habits: habits) }
    var reader: HabitDayReader { HabitDayReader(habits: habits) }

    /// What an event does.
    func consume(_ event: any Event) async throws {
        let consumers = AccountConsumers(writer: core.writer)
        try await work.consume(
            event,
            by: [
                core.profiles.handler(changed: consumers.profileChanged),
                EntitlementReplica().handler(changed: consumers.entitlementsChanged),
            ] + consumers.handlers
        )
    }

    /// The user's profile, or another clock of it.
    func register(zone: String = "UTC", version: Int64 = 1) async throws {
        let state = ProfileState(
            userID: user,
            version: version,
            username: "person\(user.low)",
            displayName: "Person",
            timeZone: zone,
            status: .active,
            timeZoneSince: clock.now()
        )
        try await consume(ProfileChanged(userID: user, profile: state))
    }

    func premium(_ isPremium: Bool = true, version: Int64 = 1) async throws {
        try await consume(
            EntitlementsChanged(userID: user, version: version, plan: isPremium ? .premium : .free, expiresAt: nil)
        )
    }

    func settle() async throws {
        let job = SettlementJob(kinds: [.habit], writer: core.writer, work: work, logger: testLogger, metrics: Metrics()).job
        while try await job.run(clock.now()) > 0 {}
    }

    // MARK: changes

    @discardableResult
    func create(
        _ name: String,
        _ schedule: HabitSchedule? = nil,
        target: Double? = nil,
        category: HabitCategoryID? = nil,
        at time: String? = nil
    ) async throws -> Habit {
        try await create(
            CreateHabitRequest(name: name, categoryID: category, schedule: schedule, targetValue: target, reminderTime: time)
        )
    }

    @discardableResult
    func create(_ request: CreateHabitRequest) async throws -> Habit {
        try await CreateHabit(changes: changes).handle(request, context).reply
    }

    @discardableResult
    func update(_ request: UpdateHabitRequest) async throws -> Habit {
        try await UpdateHabit(changes: changes).handle(request, context).reply
    }

    @discardableResult
    func complete(
        _ habit: HabitID,
        on date: String? = nil,
        value: Double? = nil,
        increment: Double? = nil,
        id: CompletionID? = nil,
        note: String = "",
        mood: String? = nil
    ) async throws -> HabitEntryReply {
        try await complete(
            CompleteHabitRequest(
                habitID: habit,
                id: id,
                date: date.map(day),
                value: value,
                increment: increment,
                note: note,
                mood: mood
            )
        )
    }

    @discardableResult
    func complete(_ request: CompleteHabitRequest) async throws -> HabitEntryReply {
        try await CompleteHabit(changes: changes).handle(request, context).reply
    }

    @discardableResult
    func change(_ request: UpdateCompletionRequest) async throws -> HabitEntryReply {
        try await UpdateCompletion(changes: changes).handle(request, context).reply
    }

    @discardableResult
    func delete(_ completion: CompletionID, of habit: HabitID) async throws -> HabitEntryReply {
        let request = DeleteCompletionRequest(habitID: habit, completionID: completion)
        return try await DeleteCompletion(changes: changes).handle(request, context).reply
    }

    @discardableResult
    func skip(_ habit: HabitID, on date: String? = nil) async throws -> HabitEntryReply {
        try await SkipHabit(changes: changes).handle(SkipHabitRequest(habitID: habit, date: date.map(day)), context).reply
    }

    @discardableResult
    func unskip(_ habit: HabitID, on date: String? = nil) async throws -> HabitEntryReply {
        try await UnskipHabit(changes: changes).handle(UnskipHabitRequest(habitID: habit, date: date.map(day)), context).reply
    }

    @discardableResult
    func archive(_ habit: HabitID) async throws -> Habit {
        try await ArchiveHabit(changes: changes).handle(ArchiveHabitRequest(habitID: habit), context).reply
    }

    @discardableResult
    func unarchive(_ habit: HabitID) async throws -> Habit {
        try await UnarchiveHabit(changes: changes).handle(UnarchiveHabitRequest(habitID: habit), context).reply
    }

    @discardableResult
    func delete(_ habit: HabitID) async throws -> DeleteHabitReply {
        try await DeleteHabit(changes: changes).handle(DeleteHabitRequest(habitID: habit), context).reply
    }

    @discardableResult
    func undelete(_ habit: HabitID) async throws -> Habit {
        try await UndeleteHabit(changes: changes).handle(UndeleteHabitRequest(habitID: habit), context).reply
    }

    @discardableResult
    func pause(_ habit: HabitID, from: String? = nil, until: String) async throws -> Habit {
        let request = PauseHabitRequest(habitID: habit, from: from.map(day), until: day(until))
        return try await PauseHabit(changes: changes).handle(request, context).reply
    }

    @discardableResult
    func resume(_ habit: HabitID) async throws -> Habit {
        try await ResumeHabit(changes: changes).handle(ResumeHabitRequest(habitID: habit), context).reply
    }

    @discardableResult
    func settings(_ request: UpdateHabitSettingsRequest) async throws -> HabitAppSettings {
        try await UpdateHabitSettings(changes: changes).handle(request, context).reply
    }

    // MARK: reads

    func today(_ date: String? = nil) async throws -> GetHabitsTodayReply {
        try await GetHabitsToday(reader: reader).handle(GetHabitsTodayRequest(date: date.map(day)), context)
    }

    /// A habit on the Today screen of a date.
    func card(_ habit: HabitID, _ date: String? = nil) async throws -> TodayHabit {
        let cards = try await today(date).sections.flatMap(\.habits)
        return try #require(cards.first { $0.habitID == habit })
    }

    func detail(_ habit: HabitID) async throws -> GetHabitReply {
        try await GetHabit(habits: habits).handle(GetHabitRequest(habitID: habit), context)
    }

    func list(_ request: ListHabitsRequest = ListHabitsRequest()) async throws -> ListHabitsReply {
        try await ListHabits(habits: habits).handle(request, context)
    }

    func categories() async throws -> [HabitCategory] {
        try await ListHabitCategories(accounts: accounts).handle(ListHabitCategoriesRequest(), context).categories
    }

    func month(_ habit: HabitID, _ month: String = "") async throws -> HabitMonth {
        try await GetHabitCalendar(habits: habits).handle(GetHabitCalendarRequest(habitID: habit, month: month), context)
    }

    func profile() async throws -> GetHabitProfileReply {
        try await GetHabitProfile(accounts: accounts).handle(GetHabitProfileRequest(), context)
    }

    /// What was emitted, in order.
    func events<E: Event>(_: E.Type) async throws -> [E] {
        try await database.query("SELECT body FROM outbox WHERE subject = \(E.subject) ORDER BY position")
            .map { try E(serialized: try $0.decode(as: [UInt8].self)) }
    }

    /// The reason of a refusal; nil when there was none.
    func reason(_ body: () async throws -> Void) async -> String? {
        do { try await body() } catch let error as ServiceError { return error.reason } catch { return "\(error)" }
        return nil
    }

    /// The fields that a request is refused for, each with its text.
    func fields(_ body: () async throws -> Void) async -> [String: String] {
        do { try await body() } catch let error as ServiceError {
            return Dictionary(error.details.map { ($0.field, $0.message) }) { first, _ in first }
        } catch { return ["": "\(error)"] }
        return [:]
    }
}

extension HabitSchedule {
    static let daily = HabitSchedule(type: "daily")
    static func weekdays(_ days: Int32...) -> Self { HabitSchedule(type: "weekdays", weekdays: days) }
    static func every(_ days: Int32) -> Self { HabitSchedule(type: "every_n_days", every: days) }
    static func weekly(_ times: Int32) -> Self { HabitSchedule(type: "times_per_week", times: times) }
    static func monthly(_ days: Int32...) -> Self { HabitSchedule(type: "days_of_month", days: days) }
}

/// A world on Monday, 5 January 2026, at noon, with its user.
nonisolated(nonsending) func withHabits(
    at start: String = "2026-01-05T12:00:00Z",
    zone: String = "UTC",
    _ body: (HabitWorld) async throws -> Void
) async throws {
    try await template.withDatabase(poolSize: 6, adjust: PostgresServer.patient) { database in
        let clock = ManualClock(moment(start))
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: SystemClock()), relay: nil)
        let world = HabitWorld(
            database: database,
            clock: clock,
            work: work,
            mutations: Mutations(work: work, database: database),
            core: StreaksCore(database: database, bus: NoServices(), avatars: AvatarLinks(base: ""), StreaksModule.extensions)
        )
        try await world.register(zone: zone)
        try await body(world)
    }
}
