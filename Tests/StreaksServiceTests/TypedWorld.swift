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
@testable import StreaksGoods
@testable import StreaksPowerUps
@testable import StreaksService
@testable import StreaksTyped

/// Typed streaks, goods and power-ups of one user on a database of its own.
struct TypedWorld {
    let database: Database
    let clock: ManualClock
    let work: UnitOfWorkFactory
    let mutations: Mutations
    let core: StreaksCore
    let ann = UserID(high: 1, low: 1)

    var context: CallContext {
        CallContext(deadline: SystemClock.now() + .minutes(2), principal: Principal(userID: ann, role: .user))
    }

    private var activities: Activities { Activities(writer: core.writer) }
    var views: TypedViews { TypedViews(store: core.store, profiles: core.profiles, clock: clock) }
    var uses: PowerUpUses { PowerUpUses(writer: core.writer) }

    /// What an event does.
    func consume(_ event: any Event) async throws {
        let accounts = AccountConsumers(writer: core.writer)
        let handlers =
            [
                core.profiles.handler(changed: accounts.profileChanged),
                EntitlementReplica().handler(changed: accounts.entitlementsChanged),
            ] + ActivityConsumers(activities: activities, profiles: core.profiles).handlers + accounts.handlers
        try await work.consume(event, by: handlers)
    }

    /// The user's profile, with a clock on UTC.
    func register() async throws {
        let state = ProfileState(
            userID: ann,
            version: 1,
            username: "ann",
            displayName: "Ann",
            timeZone: "UTC",
            status: .active,
            timeZoneSince: clock.now()
        )
        try await consume(ProfileChanged(userID: ann, profile: state))
    }

    func premium(_ isPremium: Bool, version: Int64) async throws {
        try await consume(EntitlementsChanged(userID: ann, version: version, plan: isPremium ? .premium : .free, expiresAt: nil))
    }

    @discardableResult
    func record(_ type: StreakKind = .recipeCreation, capturedAt: Instant? = nil) async throws -> RecordActivityReply {
        try await RecordActivity(activities: activities, profiles: core.profiles, mutations: mutations).handle(
            RecordActivityRequest(type: type.typeName, capturedAt: capturedAt),
            context
        ).reply
    }

    func streak(_ type: StreakKind = .recipeCreation) async throws -> TypedStreak {
        let all = try await ListTyped(views: views).handle(ListTypedRequest(), context).streaks
        return try #require(all.first { $0.type == type.typeName })
    }

    func history(_ type: StreakKind = .recipeCreation) async throws -> [TypedRun] {
        try await GetTypedHistory(views: views).handle(GetTypedHistoryRequest(type: type.typeName), context).runs
    }

    /// Lets time pass and does what is due at that time.
    func go(to text: String) async throws {
        clock.set(moment(text))
        let kinds = StreakKind.solo
        let job = SettlementJob(kinds: kinds, writer: core.writer, work: work, logger: testLogger, metrics: Metrics()).job
        while try await job.run(clock.now()) > 0 {}
        while try await EndedPowerUps(uses: uses, work: work, database: database).job.run(clock.now()) > 0 {}
    }

    /// An activity at noon of each of these days of January 2026.
    func recordDaily(_ days: ClosedRange<Int>, _ type: StreakKind = .recipeCreation) async throws {
        for day in days {
            try await go(to: "2026-01-\(day < 10 ? "0" : "")\(day)T12:00:00Z")
            try await record(type)
        }
    }

    @discardableResult
    func grant(_ goods: [String: Int32], operation: UInt64, keepsCredit: Bool = false) async throws -> [String: Int32] {
        let request = GrantGoodsRequest(
            operationID: OperationID(high: 9, low: operation),
            userID: ann,
            goods: goods.sorted { $0.key < $1.key }.map { GoodCount(good: $0.key, count: $0.value) },
            keepsCredit: keepsCredit
        )
        let reply = try await GrantGoods(
            freezes: BoughtFreezes(writer: core.writer),
            shields: BoughtShields(writer: core.writer),
            profiles: core.profiles,
            mutations: mutations
        ).handle(request, context).reply
        return Dictionary(uniqueKeysWithValues: reply.stock.map { ($0.good, $0.count) })
    }

    @discardableResult
    func use(_ good: StreakGood, _ type: StreakKind? = nil, on date: String? = nil) async throws -> UsePowerUpReply {
        try await UsePowerUp(uses: uses, profiles: core.profiles, mutations: mutations).handle(
            UsePowerUpRequest(good: good.rawValue, type: type?.typeName, date: date.map(day)),
            context
        ).reply
    }

    func powerUps() async throws -> ListPowerUpsReply {
        try await ListPowerUps(database: database, boughtShield: .armed).handle(ListPowerUpsRequest(), context)
    }

    func held(_ good: StreakGood) async throws -> Int32 { try await GoodsStock.count(of: good, of: ann, database) }

    /// Why goods should not be paid for; nil: nothing speaks against it.
    func refusal(_ good: StreakGood, _ count: Int32 = 1) async throws -> String? { try await check(good, count)?.refused }

    /// What is said of goods before they are paid for.
    func check(_ good: StreakGood, _ count: Int32 = 1) async throws -> GoodCheck? {
        let check = CheckGoods(check: GoodsCheck(store: core.store, database: database), boughtShield: .armed, clock: clock)
        let request = CheckGoodsRequest(userID: ann, goods: [GoodCount(good: good.rawValue, count: count)])
        return try await check.handle(request, context).goods.first
    }

    /// What was earned: once for each key, as billing posts it.
    func coins() async throws -> [String: Int64] {
        Dictionary(try await events(CoinsEarned.self).map { ($0.key, $0.amount) }) { first, _ in first }
    }

    /// What was emitted, in order.
    func events<E: Event>(_: E.Type) async throws -> [E] {
        try await database.query("SELECT body FROM outbox WHERE subject = \(E.subject) ORDER BY position")
            .map { try E(serialized: try $0.decode(as: [UInt8].self)) }
    }

    func reason(_ body: () async throws -> Void) async -> String? {
        do { try await body() } catch let error as ServiceError { return error.reason } catch { return "\(error)" }
        return nil
    }
}

/// A world on Monday, 5 January 2026, at noon, with its user.
nonisolated(nonsending) func withTyped(_ body: (TypedWorld) async throws -> Void) async throws {
    try await template.withDatabase(poolSize: 6, adjust: PostgresServer.patient) { database in
        let clock = ManualClock(moment("2026-01-05T12:00:00Z"))
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: SystemClock()), relay: nil)
        let world = TypedWorld(
            database: database,
            clock: clock,
            work: work,
            mutations: Mutations(work: work, database: database),
            core: StreaksCore(database: database, bus: NoServices(), avatars: AvatarLinks(base: ""), StreaksModule.extensions)
        )
        try await world.register()
        try await body(world)
    }
}
