internal import BillingAPI
internal import BillingDomain
internal import Bus
internal import Kernel
internal import Logging
internal import Outbox
internal import StreaksAPI

/// Drives purchases to their end (BI-5, D6): recorded with its payment → goods granted by the service that keeps them → done. A refund adds a
/// step that takes them back. Each step may be repeated: an operation id has one answer.
///
/// The request, a repeat of it and, after a crash, the job all bring a purchase to the same end.
struct Purchases: Sendable {
    /// How long a step is left to the process that drives it. Driving it twice does no harm.
    static let lease = Interval.seconds(5)
    /// How long a step that has failed waits for the job at most: the user has paid, and sees a broken streak until a freeze has come.
    static let longestWait = Interval.minutes(1)
    private static let pollInterval = Duration.milliseconds(20)
    /// Least time of a request that waiting makes sense in.
    private static let leastTime = Interval.milliseconds(300)

    let repository: PurchaseRepository
    let ledger: LedgerRepository
    let goods: GoodsClient
    let work: UnitOfWorkFactory
    let logger: Logger

    /// Records a purchase, paid for, with its first step. What only the ledger keeps is granted at once.
    ///
    /// - Returns: whether other services have a part in it.
    func begin(_ purchase: StoredPurchase, _ work: UnitOfWork) async throws -> Bool {
        try await repository.insert(purchase, work.sql)
        return try await add(.grant, to: purchase, work)
    }

    /// Records the next step of a purchase that is locked.
    ///
    /// - Returns: whether other services have a part in it.
    func add(_ kind: GoodsOperation.Kind, to purchase: StoredPurchase, _ work: UnitOfWork) async throws -> Bool {
        let id: OperationID = work.ids.make()
        try await repository.insert(id, kind, of: purchase.id, for: purchase.user, lease: SystemClock.now(), work.sql)
        guard purchase.foreignGoods.isEmpty, let next = try await repository.next(of: purchase.id, work.sql), next.id == id else {
            return true
        }
        try await finish(next, purchase, Foreign(), work)
        return false
    }

    /// Records that what is unused of a locked purchase moves to another user.
    ///
    /// - Returns: whether other services have a part in it.
    func move(_ purchase: StoredPurchase, to user: UserID, _ work: UnitOfWork) async throws -> Bool {
        let (out, into): (OperationID, OperationID) = (work.ids.make(), work.ids.make())
        let now = SystemClock.now()
        try await repository.insert(out, .moveOut, of: purchase.id, for: purchase.user, lease: now, work.sql)
        try await repository.insert(into, .moveIn, of: purchase.id, for: user, lease: now, work.sql)
        try await repository.setUser(user, of: purchase.id, work.sql)
        for id in [out, into] {
            guard purchase.foreignGoods.isEmpty, let next = try await repository.next(of: purchase.id, work.sql), next.id == id
            else { return true }
            try await finish(next, purchase, Foreign(), work)
        }
        return false
    }

    /// What another service has taken, and what it could not.
    private struct Foreign: Sendable {
        var taken: [(good: String, count: Int64)] = []
        var missing: [(good: String, count: Int64)] = []
    }

    /// The end of a purchase: waits for the process that drives it, and drives it if none does.
    ///
    /// - Throws: the refusal it ended with; `UNAVAILABLE` when it cannot end now; then the job continues.
    @discardableResult
    func end(of id: PurchaseID, context: CallContext) async throws -> StoredPurchase {
        while true {
            guard let purchase = try await repository.find(id) else { throw ServiceError.notFound("purchase") }
            if let refusal = purchase.refusal { throw refusal }
            guard let operation = try await repository.next(of: id, repository.database) else { return purchase }
            let now = SystemClock.now()
            let (lease, far) = (now + Self.lease, now + Self.lease + Self.lease)
            // One that waits after failures is driven at once: who asks again must not wait for the job while all is well.
            if try await repository.lease(operation.id, now: now, until: lease, orLaterThan: far) {
                do { try await drive(operation, context.child(timeout: context.remaining - Self.leastTime)) } catch {
                    throw ServiceError.purchaseUnfinished
                }
            } else {
                guard context.remaining > Self.leastTime else { throw ServiceError.purchaseUnfinished }
                try await Task.sleep(for: Self.pollInterval)
            }
        }
    }

    /// Brings steps to their end that no process drives. - Returns: 0: what it leased is not due again at once.
    func sweep() async throws -> Int {
        // Leases run on the machine's clock: moving the development clock must not end a request's lease.
        let now = SystemClock.now()
        for operation in try await repository.leaseStranded(now: now, until: now + Self.lease, limit: 20) {
            do { try await drive(operation, CallContext(deadline: now + .seconds(10))) } catch {
                logger.warning("an unfinished purchase waits", metadata: ["operation": "\(operation.id)", "error": "\(error)"])
            }
        }
        return 0
    }

    /// One step; after a failure it is due again.
    private func drive(_ operation: GoodsOperation, _ context: CallContext) async throws {
        do {
            guard let purchase = try await repository.find(operation.purchase) else { return }
            switch operation.kind {
            case .grant, .moveIn: try await grant(operation, purchase, context)
            case .takeBack, .moveOut: try await takeBack(operation, purchase, context)
            }
        } catch {
            // At once, in case that only the caller's time was short; after some failures later and later.
            let (now, failures) = (SystemClock.now(), Int(operation.attempts) + 1)
            let later = failures < 3 ? now : min(AskSchedule.retry(failures - 2, after: now), now + Self.longestWait)
            try? await repository.release(operation.id, until: later)
            throw error
        }
    }

    private func grant(_ operation: GoodsOperation, _ purchase: StoredPurchase, _ context: CallContext) async throws {
        let foreign = try await repository.step(operation, of: purchase, repository.database).goods.foreignGoods
        if !foreign.isEmpty {
            let request = GrantGoodsRequest(
                operationID: operation.id,
                userID: operation.user,
                goods: foreign.map { GoodCount(good: $0.good, count: $0.count) },
                keepsCredit: purchase.coins == 0,
                // What comes again, or from another account, is there from now on.
                obtainedAt: operation.kind == .grant && operation.place == 0 ? purchase.purchasedAt : nil
            )
            do { _ = try await goods.grantGoods(request, context: context) } catch let refusal as ServiceError
                where refusal.isFinal && purchase.coins > 0
            {
                return try await void(operation, purchase, refusal, context)
            }
        }
        try await work.run(context) { work in try await finish(operation, purchase, Foreign(), work) }
    }

    private func takeBack(_ operation: GoodsOperation, _ purchase: StoredPurchase, _ context: CallContext) async throws {
        let step = try await repository.step(operation, of: purchase, repository.database)
        var foreign = Foreign()
        if !step.goods.foreignGoods.isEmpty, let grant = step.grant {
            let request = TakeBackGoodsRequest(operationID: operation.id, userID: operation.user, grantID: grant)
            let reply = try await goods.takeBackGoods(request, context: context)
            foreign.taken = reply.taken.map { (good: $0.good, count: Int64($0.count)) }
            foreign.missing = reply.missing.filter { $0.count > 0 }.map { (good: $0.good, count: Int64($0.count)) }
        }
        let found = foreign
        try await work.run(context) { work in try await finish(operation, purchase, found, work) }
    }

    /// The end of a step: the ledger's part of it, and the purchase's state, in one transaction. A repeat changes nothing.
    private func finish(_ operation: GoodsOperation, _ purchase: StoredPurchase, _ foreign: Foreign, _ work: UnitOfWork)
        async throws
    {
        guard try await repository.lock(purchase.id, work.sql) != nil, try await repository.lockOpen(operation.id, work.sql)
        else {
            return
        }
        let end = try await postOwn(operation, purchase, foreign, work)
        if operation.kind == .moveOut { try await repository.setMoved(end.taken, by: operation.id, work.sql) }
        let text = end.missing.map { "\($0.good) \($0.count)" }.joined(separator: ", ")
        try await repository.setDone(operation.id, missing: text.isEmpty ? nil : text, work.sql)
        if !text.isEmpty {
            logger.notice(
                operation.kind == .moveOut
                    ? "a purchase that moved to another account was spent already" : "a refunded purchase was spent already",
                metadata: ["purchase": "\(purchase.id)", "missing": "\(text)"]
            )
        }
        let next = try await repository.next(of: purchase.id, work.sql)
        // One that is taken back at once was never with the user.
        if operation.kind == .grant, operation.place == 0, next?.kind != .takeBack {
            try await work.emit(PurchaseCompleted(purchase, of: operation.user))
        }
        guard next == nil else { return }
        try await repository.setState(operation.kind == .takeBack ? .takenBack : .granted, of: purchase.id, work.sql)
    }

    /// The ledger's part of a step. - Returns: what was taken and was missing in all.
    private func postOwn(_ operation: GoodsOperation, _ purchase: StoredPurchase, _ foreign: Foreign, _ work: UnitOfWork)
        async throws -> Foreign
    {
        var end = foreign
        let takes = operation.kind == .takeBack || operation.kind == .moveOut
        for (currency, count) in try await repository.step(operation, of: purchase, work.sql).goods.ownGoods {
            var amount = count
            if takes {
                let (balance, _) = try await ledger.lock(operation.user, currency, work.sql)
                let (taken, spent) = Ledger.takeBack(count, from: balance)
                end.taken.append((Good.recoveryToken.rawValue, taken))
                if spent > 0 { end.missing.append((Good.recoveryToken.rawValue, spent)) }
                amount = -taken
            }
            guard amount != 0 else { continue }
            let posting = Posting(
                user: operation.user,
                currency: currency,
                type: takes ? .refunded : .purchased,
                amount: amount,
                against: .sales,
                note: operation.kind.note ?? purchase.title,
                key: "purchase \(purchase.id) \(operation.place)"
            )
            try await work.post(posting, ledger)
        }
        return end
    }

    /// The goods were refused: the coins come back.
    private func void(_ operation: GoodsOperation, _ purchase: StoredPurchase, _ refusal: ServiceError, _ context: CallContext)
        async throws
    {
        try await work.run(context) { work in
            guard try await repository.lock(purchase.id, work.sql) != nil, try await repository.lockOpen(operation.id, work.sql)
            else { return }
            let posting = Posting(
                user: operation.user,
                currency: .coins,
                type: .refunded,
                amount: purchase.coins,
                against: .uses,
                note: purchase.title,
                key: "void \(purchase.id)"
            )
            try await work.post(posting, ledger)
            try await repository.setDone(operation.id, work.sql)
            try await repository.setVoid(purchase.id, refusal, work.sql)
        }
    }
}

extension PurchaseCompleted {
    init(_ purchase: StoredPurchase, of user: UserID) {
        self.init(
            userID: user,
            purchaseID: purchase.id,
            item: purchase.item,
            title: purchase.title,
            quantity: purchase.quantity,
            coins: purchase.coins,
            priceMilli: purchase.priceMilli,
            currency: purchase.priceCurrency,
            purchasedAt: purchase.purchasedAt
        )
    }
}

extension GoodsOperation.Kind {
    /// What the wallet says of it; nil: what was bought.
    fileprivate var note: String? {
        switch self {
        case .grant: nil
        case .takeBack: "The purchase was refunded"
        case .moveOut: "The purchase moved to another account"
        case .moveIn: "The purchase moved here from another account"
        }
    }
}

extension ServiceError {
    static let purchaseUnfinished = ServiceError(
        .unavailable,
        "UNAVAILABLE",
        "The purchase is under way and not finished; ask again with the same Idempotency-Key.",
        retryAfter: 2
    )

    /// Whether trying again later cannot help.
    fileprivate var isFinal: Bool {
        switch code {
        case .unavailable, .deadlineExceeded, .internal, .aborted, .resourceExhausted, .cancelled, .unknown: false
        default: true
        }
    }
}
