internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Buys one freeze or five (CI-2): recorded, paid, in hand. With XP it is one transaction; money and coins are billing's, which grants the
/// freezes with the payment, whatever becomes of this request.
///
/// XP and coins are refused at the cap before they are spent. A store's token is paid for already, and its webhook may have granted the freezes
/// before this: it is never refused by the cap, and what exceeds it becomes a credit.
struct PurchaseFreezes: MutationHandler {
    let streaks: CheckInStreaks
    let payments: Payments
    let mutations: Mutations

    func handle(_ request: PurchaseFreezesRequest, _ context: CallContext) async throws -> Once<PurchaseFreezesReply> {
        let user = try context.requireUser()
        let method = try Self.method(request)
        if let known: Once<PurchaseFreezesReply> = try await mutations.known(context, request) { return known }
        let operation = Payments.operation("freeze", user, token: method.isMoney ? request.paymentToken : nil, context)
        let first = try await PaymentRepository.purchase(operation, by: user, streaks.writer.store.database)
        if let first, let done = first.done {
            // A store's token names one purchase: for another quantity it is used already.
            guard first.quantity == request.quantity else { throw ServiceError.tokenUsed }
            return try await mutations.once(context, request) { _ in Self.reply(first.quantity, done) }
        }
        try await streaks.prepare(user, context)
        try await begin(operation, method, request, user, context)
        let price = try await pay(operation, method, request, user, context)
        do { return try await finish(operation, price, request, user, context) } catch let refusal as ServiceError
            where price == nil && refusal.code == .failedPrecondition
        {
            try await mutations.work.run(context) { work in try await PaymentRepository.drop(operation, work.sql) }
            throw refusal
        }
    }

    func problems(of request: PurchaseFreezesRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.method(request) }
    }

    /// How it is paid, when what the rules of the fields do not say is right, too.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    private static func method(_ request: PurchaseFreezesRequest) throws -> PaymentMethod {
        var check = FieldCheck()
        check.require(FreezePrices.quantities.contains(request.quantity), "quantity", "must be 1 or 5")
        let method = PaymentMethod(rawValue: request.paymentMethod)
        check.require(method != nil, "payment_method", "is not known")
        let isPaid = method.map { !$0.isMoney || request.paymentToken != nil } ?? true
        check.require(isPaid, "payment_token", "is required where money is paid")
        try check.finish()
        guard let method else { throw ServiceError.internal }
        return method
    }

    /// In hand and recorded. - Parameter price: nil: XP is spent here.
    private func finish(
        _ operation: OperationID,
        _ price: PaidPrice?,
        _ request: PurchaseFreezesRequest,
        _ user: UserID,
        _ context: CallContext
    ) async throws -> Once<PurchaseFreezesReply> {
        try await mutations.once(context, request) { [streaks] work in
            let stored = try await streaks.lock(user, work)
            // Another request with the same token may have been faster.
            if let done = try await PaymentRepository.purchase(operation, by: user, work.sql)?.done {
                return Self.reply(request.quantity, done)
            }
            var paid = price ?? PaidPrice(milli: 0, currency: "XP", transaction: operation.description)
            var settled = streaks.settled(stored, at: work.now)
            if price == nil {
                let cost = XPRules.freezePrice * Int(request.quantity)
                try await XPLedger.spend(cost, by: user, key: "freeze:\(operation)", cause: "freeze_purchase", work)
                let grant = StreakCommand.grantFreezes(Int(request.quantity), id: operation)
                settled = SettledCheckIns(try await streaks.writer.apply(grant, to: stored, operation: operation, work))
                paid.milli = Int64(cost) * 1000
            }
            let done = PaymentRepository.Purchase.Done(price: paid, left: Int32(settled.state.freezesLeft))
            try PaymentRepository.finish(operation, done, at: work.now, work.sql)
            return Self.reply(request.quantity, done)
        }
    }

    /// Under the cap, before anything is paid here. What was begun before goes on.
    private func begin(
        _ operation: OperationID,
        _ method: PaymentMethod,
        _ request: PurchaseFreezesRequest,
        _ user: UserID,
        _ context: CallContext
    ) async throws {
        try await mutations.work.run(context) { [streaks] work in
            let stored = try await streaks.lock(user, work)
            let known = try await PaymentRepository.purchase(operation, by: user, work.sql)
            if known?.quantity == request.quantity { return }
            if !method.isMoney {
                let held = streaks.settled(stored, at: work.now).state.freezesHeld
                let reserved = try await PaymentRepository.reserved(by: user, except: operation, at: work.now, work.sql)
                guard held + reserved + Int(request.quantity) <= FreezePrices.cap else { throw ServiceError.maxFreezes(held) }
            }
            try await PaymentRepository.begin(
                operation,
                of: user,
                quantity: request.quantity,
                method: request.paymentMethod,
                at: work.now,
                work.sql
            )
        }
    }

    /// nil: with XP, in the transaction that grants. A refused payment leaves nothing behind.
    private func pay(
        _ operation: OperationID,
        _ method: PaymentMethod,
        _ request: PurchaseFreezesRequest,
        _ user: UserID,
        _ context: CallContext
    ) async throws -> PaidPrice? {
        do {
            switch method {
            case .xp:
                let account = try await XPLedger.account(of: user, streaks.writer.store.database)
                let cost = XPRules.freezePrice * Int(request.quantity)
                guard account.balance >= Int64(cost) else {
                    throw ServiceError.notEnoughXP(balance: account.balance, price: cost)
                }
                return nil
            case .coins: return try await payments.spendCoins(operation, item: "freeze", quantity: request.quantity, context)
            case .stripe, .applePay, .googlePay:
                let (token, count) = (request.paymentToken ?? "", request.quantity)
                return try await payments.confirm(operation, token: token, good: "freeze", count: count, by: user, context)
            case .free: throw ServiceError.validation(field: "payment_method", "is for repairs")
            }
        } catch let refusal as ServiceError where refusal.code != .unavailable && refusal.code != .deadlineExceeded {
            try await mutations.work.run(context) { work in try await PaymentRepository.drop(operation, work.sql) }
            throw refusal
        }
    }

    private static func reply(_ quantity: Int32, _ done: PaymentRepository.Purchase.Done) -> PurchaseFreezesReply {
        let (left, paid) = (done.left, done.price)
        return PurchaseFreezesReply(
            data: PurchasedFreezes(
                freezesPurchased: quantity,
                freezesAvailable: left,
                payment: CheckInPayment(amount: paid.amount, currency: paid.currency, transactionID: paid.transaction),
                message: "\(CheckInWords.freezes(Int(quantity))) purchased! You now have \(left) freeze\(left == 1 ? "" : "s")."
            )
        )
    }
}

extension ServiceError {
    fileprivate static let tokenUsed = ServiceError(
        .failedPrecondition,
        "PAYMENT_REFUSED",
        "This purchase has been used already.",
        details: [Detail(field: "reason", message: "PURCHASE_ALREADY_USED")]
    )

    fileprivate static func maxFreezes(_ held: Int) -> ServiceError {
        let cap = FreezePrices.cap
        return ServiceError(
            .failedPrecondition,
            "MAX_FREEZES_REACHED",
            held >= cap
                ? "You already have the maximum of \(cap) freezes" : "You have \(held) freezes; you can have \(cap) at most",
            details: [Detail(field: "max_freezes", message: "\(cap)"), Detail(field: "current_freezes", message: "\(held)")]
        )
    }
}
