import BillingAPI
import Bus
import Database
import Kernel
import Replicas
import StreaksAPI
import StreaksDomain
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Outbox
@testable import Runtime
@testable import ServiceRuntime
@testable import StreaksCheckIns
@testable import StreaksCore
@testable import StreaksGoods
@testable import StreaksService

/// Billing's store: what is paid is granted at once, as its goods are.
final class PaidStore: Caller {
    struct State {
        /// Unused purchases by their tokens.
        var purchases: [String: (good: StreakGood, count: Int)] = [:]
        /// Those whose goods the webhook has granted.
        var granted: Set<String> = []
        /// Purchases of another user.
        var foreign: Set<String> = []
        var answers: [OperationID: ConfirmPurchaseReply] = [:]
        var coins: Int64 = 0
        var bought: [String: PurchaseReply] = [:]
        /// How often something was paid.
        var payments = 0
    }

    let state = Mutex(State())
    /// The last argument: what is paid with money becomes a credit where it exceeds the cap.
    private let grant: @Sendable (UserID, StreakGood, Int, Bool) async throws -> Void

    init(grant: @escaping @Sendable (UserID, StreakGood, Int, Bool) async throws -> Void) { self.grant = grant }

    /// The webhook brings an unused purchase before the app does.
    func receiveWebhook(_ token: String, of user: UserID) async throws {
        let bought = try #require(state.withLock { $0.purchases[token] })
        try await grant(user, bought.good, bought.count, true)
        state.withLock { _ = $0.granted.insert(token) }
    }

    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _ request: Request, context: CallContext) async throws
        -> Reply
    {
        let reply: any Message
        switch request {
        case let request as ConfirmPurchaseRequest: reply = try await confirm(request)
        case let request as PurchaseRequest: reply = try await purchase(request, context)
        default: throw ServiceError.unavailable()
        }
        guard let reply = reply as? Reply else { throw ServiceError.internal }
        return reply
    }

    private func confirm(_ request: ConfirmPurchaseRequest) async throws -> ConfirmPurchaseReply {
        if let known = state.withLock({ $0.answers[request.operationID] }) { return known }
        guard !state.withLock({ $0.foreign.contains(request.transactionID) }) else {
            throw ServiceError(.failedPrecondition, "PURCHASE_OF_ANOTHER_USER", "Another user bought it.")
        }
        let found = state.withLock { $0.purchases.removeValue(forKey: request.transactionID) }
        guard let found else { throw ServiceError(.notFound, "PURCHASE_NOT_FOUND", "There is no such purchase.") }
        guard found.good.rawValue == request.good, found.count == Int(request.count) else {
            throw ServiceError(.failedPrecondition, "PURCHASE_OF_ANOTHER_PRODUCT", "It bought something else.")
        }
        if !state.withLock({ $0.granted.contains(request.transactionID) }) {
            try await grant(request.userID, found.good, found.count, true)
        }
        let reply = ConfirmPurchaseReply(
            purchaseID: PurchaseID(high: 5, low: 5),
            item: request.good,
            quantity: request.count,
            priceMilli: found.good == .repair ? 2990 : found.count == 1 ? 990 : 3990,
            currency: "USD"
        )
        state.withLock { ($0.answers[request.operationID], $0.payments) = (reply, $0.payments + 1) }
        return reply
    }

    private func purchase(_ request: PurchaseRequest, _ context: CallContext) async throws -> PurchaseReply {
        let (key, user) = (context.idempotencyKey ?? "", try context.requireUser())
        if let known = state.withLock({ $0.bought[key] }) { return known }
        let good = try #require(StreakGood(rawValue: request.item))
        let count = Int(request.quantity ?? 1)
        let price: Int64 = good == .freeze ? 100 * Int64(count) : 500
        guard state.withLock({ $0.coins }) >= price else {
            throw ServiceError(.failedPrecondition, "NOT_ENOUGH_COINS", "You do not have enough coins.")
        }
        try await grant(user, good, count, false)
        let reply = PurchaseReply(
            purchaseID: PurchaseID(high: 6, low: 6),
            item: request.item,
            quantity: Int32(count),
            coins: price
        )
        state.withLock { ($0.bought[key], $0.coins, $0.payments) = (reply, $0.coins - price, $0.payments + 1) }
        return reply
    }
}

/// One person's check-ins.
struct CheckInWorld {
    let world: World
    let parts: CheckInsParts
    let store: PaidStore
    let ann: UserID
    var clock: ManualClock { world.clock }

    init(_ world: World, zone: String = "UTC", isPremium: Bool = false) async throws {
        self.world = world
        ann = try await world.person(1, zone: zone)
        if isPremium { try await world.premium(ann) }
        let streaks = CheckInStreaks(writer: world.service.writer, profiles: world.service.core.profiles, work: world.work)
        let work = world.work
        let freezes = BoughtFreezes(writer: streaks.writer)
        store = PaidStore { user, good, count, keepsCredit in
            try await work.run(trace: "", requestID: "") { work in
                guard good == .freeze else { return try await GoodsStock.give(good, Int32(count), to: user, work.sql) }
                let id: OperationID = work.ids.make()
                let refusal = try await freezes.grant(Int32(count), to: user, id, keepsCredit: keepsCredit, work)
                if let refusal { throw refusal }
            }
        }
        parts = CheckInsParts(
            streaks: streaks,
            payments: Payments(store: StoreClient(store)),
            mutations: world.mutations,
            clock: world.clock
        )
    }

    private var recorder: CheckInRecorder { CheckInRecorder(streaks: parts.streaks) }
    private var repairs: RepairOffers { RepairOffers(database: world.database) }
    private var mutations: Mutations { world.mutations }
    /// Of check-ins.
    var handler: CheckIn { CheckIn(recorder: recorder, mutations: mutations, clock: clock) }

    func context(key: String? = nil) -> CallContext {
        var context = World.by(ann)
        context.idempotencyKey = key
        return context
    }

    @discardableResult
    func checkIn(
        _ mood: Int32 = 8,
        at time: Instant? = nil,
        weight: Double? = nil,
        feeling: String? = nil,
        key: String? = nil
    ) async throws -> CheckInData {
        let request = CheckInRequest(
            moodScore: mood,
            energyLevel: 7,
            weightKg: weight,
            yesterdayFeeling: feeling,
            checkInTime: time ?? clock.now()
        )
        let reply = try await handler.handle(request, context(key: key)).reply
        return try #require(reply.data)
    }

    func log(_ request: LogTrackingRequest) async throws -> LogTrackingReply {
        try await LogTracking(recorder: recorder, mutations: mutations, clock: clock).handle(request, context()).reply
    }

    func status() async throws -> CheckInStatus {
        let handler = GetCheckInStatus(streaks: parts.streaks, repairs: repairs, clock: clock)
        return try #require(try await handler.handle(GetCheckInStatusRequest(), context()).data)
    }

    func history(_ days: Int32 = 30) async throws -> CheckInHistory {
        let handler = GetCheckInHistory(histories: CheckInHistories(streaks: parts.streaks, clock: clock))
        return try #require(try await handler.handle(GetCheckInHistoryRequest(days: days), context()).data)
    }

    func freeze(_ date: CalendarDate) async throws -> UsedFreeze {
        let handler = UseFreeze(streaks: parts.streaks, mutations: mutations)
        return try #require(try await handler.handle(UseFreezeRequest(date: date), context()).reply.data)
    }

    func buy(_ quantity: Int32, _ method: String, token: String? = nil, key: String? = nil) async throws -> PurchasedFreezes {
        let handler = PurchaseFreezes(streaks: parts.streaks, payments: parts.payments, mutations: mutations)
        let request = PurchaseFreezesRequest(quantity: quantity, paymentMethod: method, paymentToken: token)
        return try #require(try await handler.handle(request, context(key: key)).reply.data)
    }

    func repair(_ value: Int32, _ method: String, token: String? = nil, key: String? = nil) async throws -> RepairedStreak {
        let handler = RepairStreak(streaks: parts.streaks, repairs: repairs, payments: parts.payments, mutations: mutations)
        let request = RepairStreakRequest(paymentMethod: method, paymentToken: token, streakValue: value)
        return try #require(try await handler.handle(request, context(key: key)).reply.data)
    }

    func pause(until date: CalendarDate) async throws -> PausedCheckIns {
        let handler = PauseCheckIns(streaks: parts.streaks, mutations: mutations)
        let request = PauseCheckInsRequest(resumeDate: date, reason: "vacation", notes: "Sea")
        return try #require(try await handler.handle(request, context()).reply.data)
    }

    func xp() async throws -> XPAccount { try await XPLedger.account(of: ann, world.database) }

    func give(xp: Int) async throws {
        try await world.work.run(trace: "", requestID: "") { [ann] work in
            let entry = XPEntry(ann, key: "gift:\(xp):\(work.now)", amount: xp, cause: "gift")
            try XPLedger.post([entry], raisesLevel: false, work)
        }
    }

    /// Checks in at noon on so many dates, beginning with the present one; ends at noon of the date after.
    func live(_ days: Int) async throws {
        for _ in 0..<days {
            try await checkIn()
            clock.advance(by: .days(1))
        }
    }

    /// Lets dates pass without a check-in, settled on time.
    func miss(_ days: Int) async throws {
        clock.advance(by: .days(Int64(days)))
        try await world.settle()
    }
}

nonisolated(nonsending) func withCheckIns(
    at start: String = "2026-01-05T12:00:00Z",
    zone: String = "UTC",
    isPremium: Bool = false,
    _ body: (CheckInWorld) async throws -> Void
) async throws {
    try await withWorld(at: start) { try await body(try await CheckInWorld($0, zone: zone, isPremium: isPremium)) }
}

/// The refusal that something ends with.
nonisolated(nonsending) func refusal(_ body: () async throws -> some Any) async -> ServiceError? {
    do {
        _ = try await body()
        return nil
    } catch { return error as? ServiceError }
}
