import AuthAPI
import BillingAPI
import Bus
import Database
import Foundation
import Kernel
import Logging
import OutgoingHTTP
import StreaksAPI
import Synchronization
import TestSupport
import Testing
import Wire

@testable import BillingMoney
@testable import BillingService
@testable import Outbox
@testable import Runtime
@testable import ServiceRuntime

/// `auth` and `streaks` as billing sees them: who exists, and a stock of goods with one answer for each operation. Calls may fail, before and
/// after they have had their effect.
final class OtherServices: Caller {
    private struct State {
        var users: Set<UserID> = []
        var stock: [UserID: [String: Int32]] = [:]
        var grants: [OperationID: [GoodCount]] = [:]
        /// Of each grant in turn: when it was paid for.
        var obtained: [Instant?] = []
        var takes: [OperationID: TakeBackGoodsReply] = [:]
        var dice = Seeded(1)
        var failures = 0
        var refusal: ServiceError?
        /// Why goods could not be used now.
        var useless: [String: String] = [:]
        /// On how many streaks goods could be used.
        var places: [String: Int32] = [:]
    }

    private let state = Mutex(State())

    func add(_ users: [UserID]) { state.withLock { $0.users.formUnion(users) } }
    /// So many of a hundred calls fail, half of them after their effect.
    func fail(_ percent: Int, seed: UInt64) { state.withLock { ($0.failures, $0.dice) = (percent, Seeded(seed)) } }
    func refuse(_ error: ServiceError?) { state.withLock { $0.refusal = error } }
    func setUseless(_ good: String, _ reason: String?) { state.withLock { $0.useless[good] = reason } }
    func setStreaks(_ count: Int32, for good: String) { state.withLock { $0.places[good] = count } }
    func stock(of user: UserID) -> [String: Int32] { state.withLock { ($0.stock[user] ?? [:]).filter { $0.value != 0 } } }
    var obtained: [Instant?] { state.withLock { $0.obtained } }
    func use(_ good: String, of user: UserID) {
        state.withLock { state in
            if let count = state.stock[user]?[good], count > 0 { state.stock[user]?[good] = count - 1 }
        }
    }

    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _ request: Request, context _: CallContext)
        async throws
        -> Reply
    {
        let reply: any Message = try state.withLock { state in
            if state.dice.chance(state.failures / 2) { throw ServiceError.unavailable() }
            let reply: any Message
            switch request {
            case let request as GetSummariesRequest:
                reply = GetSummariesReply(
                    profiles: request.userIDs.filter(state.users.contains).map { ProfileState(userID: $0) }
                )
            case let request as GrantGoodsRequest: reply = try Self.grant(request, &state)
            case let request as CheckGoodsRequest:
                reply = CheckGoodsReply(
                    goods: request.goods.map {
                        GoodCheck(
                            good: $0.good,
                            count: $0.count,
                            refused: state.useless[$0.good],
                            message: "Of no use now.",
                            needsUse: $0.good != "freeze",
                            description: "What \($0.good) does.",
                            streaks: state.places[$0.good]
                        )
                    }
                )
            case let request as TakeBackGoodsRequest: reply = Self.takeBack(request, &state)
            default: throw ServiceError.internal
            }
            if state.dice.chance(state.failures / 2) { throw ServiceError.unavailable() }
            return reply
        }
        guard let reply = reply as? Reply else { throw ServiceError.internal }
        return reply
    }

    private static func grant(_ request: GrantGoodsRequest, _ state: inout State) throws -> GrantGoodsReply {
        if let refusal = state.refusal { throw refusal }
        if state.grants[request.operationID] == nil {
            state.grants[request.operationID] = request.goods
            state.obtained.append(request.obtainedAt)
            for good in request.goods { state.stock[request.userID, default: [:]][good.good, default: 0] += good.count }
        }
        return GrantGoodsReply()
    }

    private static func takeBack(_ request: TakeBackGoodsRequest, _ state: inout State) -> TakeBackGoodsReply {
        if let known = state.takes[request.operationID] { return known }
        var reply = TakeBackGoodsReply()
        for good in state.grants[request.grantID] ?? [] {
            let taken = min(good.count, state.stock[request.userID]?[good.good] ?? 0)
            state.stock[request.userID]?[good.good, default: 0] -= taken
            if taken > 0 { reply.taken.append(GoodCount(good: good.good, count: taken)) }
            if taken < good.count { reply.missing.append(GoodCount(good: good.good, count: good.count - taken)) }
        }
        state.takes[request.operationID] = reply
        return reply
    }
}

/// `billing` on a database of its own, without a broker: what it emits stays in its outbox.
struct World {
    let database: Database
    let clock: ManualClock
    let others: OtherServices
    let mutations: Mutations
    let work: UnitOfWorkFactory
    let ledger: LedgerRepository
    let tokens: TokenOperations
    let purchases: Purchases
    let events: StoreEvents
    let questions: StoreQuestions

    static let streak = StreakID(high: 3, low: 3)
    static let start = Instant(seconds: 1_893_456_000)

    init(
        _ database: Database,
        sandbox: SandboxRule = .none,
        store: RevenueCatServer? = nil,
        premium: PremiumEntitlement = .premium
    ) {
        let clock = ManualClock(Self.start)
        let others = OtherServices()
        let ledger = LedgerRepository(database: database)
        work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: SystemClock()), relay: nil)
        mutations = Mutations(work: work, database: database)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        purchases = Purchases(
            repository: PurchaseRepository(database: database),
            ledger: ledger,
            goods: GoodsClient(others),
            work: work,
            logger: logger
        )
        let stored = StoreEventRepository(database: database)
        events = StoreEvents(
            events: stored,
            customers: Customers(database: database, bus: others),
            entitling: Entitling(ledger: ledger, asks: store != nil),
            packs: Packs(
                events: stored,
                catalog: CatalogRepository(database: database),
                purchases: purchases,
                premium: premium,
                logger: logger
            ),
            sandbox: sandbox,
            premium: premium,
            work: work,
            logger: logger
        )
        questions = StoreQuestions(
            client: RevenueCatClient(
                http: OutgoingHTTP(),
                url: store?.url ?? "http://127.0.0.1:1",
                key: store == nil ? "" : RevenueCatServer.key,
                premium: premium
            ),
            events: events,
            work: work,
            database: database,
            logger: logger
        )
        (self.database, self.clock, self.others, self.ledger) = (database, clock, others, ledger)
        tokens = TokenOperations(ledger: ledger)
    }

    /// Gives two people a token each, as a streak that reaches a multiple of 30 does.
    func earn(_ one: UserID, _ two: UserID, count: Int32) async throws {
        let event = RecoveryTokenEarned(
            streakID: Self.streak,
            userAID: one,
            userBID: two,
            count: count,
            runStart: CalendarDate(dayNumber: 20_574)
        )
        try await handle(event, by: TokenEarnedConsumer.handler(ledger))
    }

    /// The streak says that the token of an operation was not needed.
    func comesBack(_ operation: OperationID, to user: UserID) async throws {
        let event = RecoveryTokenReturned(
            streakID: Self.streak,
            userID: user,
            operationID: operation,
            date: CalendarDate(dayNumber: 20_577)
        )
        try await handle(event, by: TokenReturnedConsumer.handler(tokens))
    }

    /// Streaks have earned a user coins.
    func earnCoins(_ user: UserID, _ amount: Int64, key: String) async throws {
        let event = CoinsEarned(userID: user, amount: amount, cause: "typed_day", key: key, at: clock.now())
        try await handle(event, by: CoinsEarnedConsumer.handler(ledger))
    }

    private func handle(_ event: any Event, by handler: EventHandler) async throws {
        let stored = StoredEvent(
            id: EventID(high: 5, low: 5),
            aggregate: event.aggregateID,
            subject: type(of: event).subject,
            trace: "",
            requestID: "test",
            body: try event.serialized()
        )
        try await work.run(trace: "", requestID: "") { work in try await handler.handle(stored, work) }
    }

    func spend(_ operation: OperationID, of user: UserID) async throws -> Int32 {
        try await SpendToken(tokens: tokens, mutations: mutations).handle(
            SpendTokenRequest(operationID: operation, userID: user, streakID: Self.streak),
            Self.context()
        ).reply.balance
    }

    func refund(_ operation: OperationID, to user: UserID) async throws -> Int32 {
        try await RefundToken(tokens: tokens, mutations: mutations).handle(
            RefundTokenRequest(operationID: operation, userID: user),
            Self.context()
        ).reply.balance
    }

    static func context(_ user: UserID? = nil, role: Principal.Role = .user) -> CallContext {
        CallContext(deadline: SystemClock.now() + .minutes(2), principal: user.map { Principal(userID: $0, role: role) })
    }

    /// The types of a user's entries, oldest first.
    func entries(of user: UserID) async throws -> [TokenEntryType] {
        try await ledger.entries(of: user, limit: 1_000).reversed().map { TokenEntryType(rawValue: $0.type.rawValue) }
    }

    static let oldSecret = "old-secret-of-the-store"
    static let newSecret = "new-secret-of-the-store"

    /// A webhook with the right secret.
    @discardableResult
    func receive(
        _ body: String,
        authorization: String = "Bearer \(World.newSecret)",
        signature: String = "",
        signing: String = ""
    ) async throws
        -> Bool
    {
        let secrets = try #require(SecretList(settingText: "\(Self.oldSecret), \(Self.newSecret)"))
        let handler = RevenueCatWebhook(
            secrets: WebhookSecrets(secrets: secrets, signingSecret: signing),
            events: events,
            mutations: mutations
        )
        let request = RevenueCatWebhookRequest(body: Array(body.utf8), authorization: authorization, signature: signature)
        return try await handler.handle(request, Self.context()).reply.isNew
    }

    /// Applies all that is due, and brings purchases to their end.
    func settle() async throws {
        while try await events.applyDue(now: clock.now()) > 0 {}
        _ = try await purchases.sweep()
    }

    /// What the job does for those of whom something has changed by itself.
    func expire() async throws {
        try await work.run(trace: "", requestID: "") { [events, clock] work in
            for user in try await CustomerRepository.lockDue(now: clock.now(), limit: 100, work.sql) {
                try await events.entitling.update(user, work)
            }
        }
    }

    func entitlements(of user: UserID) async throws -> Entitlements {
        try await GetEntitlements(database: database, clock: clock).handle(GetEntitlementsRequest(), Self.context(user))
    }

    /// The plans that were emitted for a user, in order.
    func emittedPlans(of user: UserID) async throws -> [Plan] {
        try await database.query("SELECT body FROM outbox WHERE subject = \(EntitlementsChanged.subject) ORDER BY position")
            .compactMap { row in
                let event = try EntitlementsChanged(serialized: try row.decode(as: [UInt8].self))
                return event.userID == user ? event.plan : nil
            }
    }

    func count(_ statement: Query) async throws -> Int {
        try await database.query(statement).first?.decode(as: Int.self) ?? -1
    }
}

/// A webhook's body.
func webhook(_ type: String, _ id: String, _ user: String, at: Instant, _ fields: [String: Any] = [:]) -> String {
    var event: [String: Any] = [
        "id": id, "type": type, "app_user_id": user, "event_timestamp_ms": at.milliseconds, "environment": "PRODUCTION",
        "store": "APP_STORE", "new_field": ["of": "tomorrow"],
    ]
    event.merge(fields) { $1 }
    let data = try? JSONSerialization.data(withJSONObject: ["api_version": "1.0", "event": event])
    return String(decoding: data ?? Data(), as: UTF8.self)
}

/// The fields of a subscription's period.
func period(_ product: String = "premium_monthly", from: Instant, until: Instant, of transaction: String = "t1") -> [String: Any]
{
    [
        "product_id": product, "purchased_at_ms": from.milliseconds, "expiration_at_ms": until.milliseconds,
        "original_transaction_id": transaction, "transaction_id": transaction, "period_type": "NORMAL",
    ]
}

private let template = PostgresTemplate("billing") { database in
    for set in [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)]
        + BillingModule.migrations
    {
        try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database)
    }
}

nonisolated(nonsending) func withWorld(
    sandbox: SandboxRule = .none,
    store: RevenueCatServer? = nil,
    premium: PremiumEntitlement = .premium,
    _ body: (World) async throws -> Void
) async throws {
    try await template.withDatabase(poolSize: 8, adjust: PostgresServer.patient) { database in
        try await body(World(database, sandbox: sandbox, store: store, premium: premium))
    }
}
