internal import Bus
internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Brings a broken streak back (CI-3): the rules, the payment, the streak. What is paid with money or coins is a credit first and used with the
/// streak in one transaction: what cannot be used any more stays a credit.
struct RepairStreak: MutationHandler {
    let streaks: CheckInStreaks
    let repairs: RepairOffers
    let payments: Payments
    let mutations: Mutations

    func handle(_ request: RepairStreakRequest, _ context: CallContext) async throws -> Once<RepairStreakReply> {
        let user = try context.requireUser()
        guard let method = PaymentMethod(rawValue: request.paymentMethod) else {
            throw ServiceError.validation(field: "payment_method", "is not known")
        }
        if let known: Once<RepairStreakReply> = try await mutations.known(context, request) { return known }
        let received = mutations.work.now()
        let operation = Payments.operation("repair", user, token: method.isMoney ? request.paymentToken : nil, context)
        let isPaid = try await check(request, method, operation, user, receivedAt: received, context)
        let paid = isPaid ? nil : try await pay(operation, method, request, user, context)
        return try await mutations.once(context, request) { work in
            try await repair(operation, method, request, paid, of: user, receivedAt: received, work)
        }
    }

    /// The rules, before anything is paid. - Returns: whether a credit pays, or the operation was done before.
    private func check(
        _ request: RepairStreakRequest,
        _ method: PaymentMethod,
        _ operation: OperationID,
        _ user: UserID,
        receivedAt received: Instant,
        _ context: CallContext
    ) async throws -> Bool {
        let database = streaks.writer.store.database
        if try await done(operation, by: user, at: received, database) != nil { return true }
        guard let streak = try await streaks.read(user, context) else { throw ServiceError.notBroken }
        try repairs.rules(for: streak).check(receivedAt: received)
        try Self.match(request.streakValue, streak)
        // A purchase is asked about even if there are credits: one of them may be what it has become.
        let isPurchase = method.isMoney && request.paymentToken != nil
        if !isPurchase, try await GoodsStock.count(of: .repair, of: user, database) > 0 { return true }
        switch method {
        case .free:
            guard try await streaks.entitlements.isPremium(user, now: received, database) else {
                throw ServiceError(.permissionDenied, "PREMIUM_REQUIRED", "The free repair is part of premium.")
            }
            guard try await repairs.isFreeRepairLeft(for: user, at: received, database) else {
                throw ServiceError.freeRepairUsed
            }
        case .xp:
            let balance = try await XPLedger.account(of: user, database).balance
            guard balance >= Int64(XPRules.repairPrice) else {
                throw ServiceError.notEnoughXP(balance: balance, price: XPRules.repairPrice)
            }
        case .stripe, .applePay, .googlePay:
            guard request.paymentToken != nil else {
                throw ServiceError.validation(field: "payment_token", "is required where money is paid")
            }
        case .coins: break
        }
        return false
    }

    /// The repair that this operation has made already; nil when it has made none. A store's token names its operation for ever, but pays once.
    ///
    /// - Throws: `PAYMENT_REFUSED` when that was longer ago than a request may be repeated (PF-4).
    private func done(_ operation: OperationID, by user: UserID, at now: Instant, _ sql: some QueryExecutor) async throws
        -> PaymentRepository.Repair?
    {
        guard let done = try await PaymentRepository.repair(operation, of: user, sql) else { return nil }
        guard now < done.at + Self.repeatable else { throw Payments.used }
        return done
    }

    /// How long a repeat of a request is answered with what the first has done (PF-4).
    private static let repeatable = Interval.hours(24)

    /// nil: what is here is spent with the streak.
    private func pay(
        _ operation: OperationID,
        _ method: PaymentMethod,
        _ request: RepairStreakRequest,
        _ user: UserID,
        _ context: CallContext
    ) async throws -> PaidPrice? {
        switch method {
        case .xp, .free: return nil
        case .coins: return try await payments.spendCoins(operation, item: "restore", quantity: 1, context)
        case .stripe, .applePay, .googlePay:
            let token = request.paymentToken ?? ""
            return try await payments.confirm(operation, token: token, good: "repair", count: 1, by: user, context)
        }
    }

    /// The streak and what pays for it, in one transaction.
    private func repair(
        _ operation: OperationID,
        _ method: PaymentMethod,
        _ request: RepairStreakRequest,
        _ paid: PaidPrice?,
        of user: UserID,
        receivedAt: Instant,
        _ work: UnitOfWork
    ) async throws -> RepairStreakReply {
        guard let stored = try await streaks.lockExisting(user, work) else { throw ServiceError.notBroken }
        if let done = try await done(operation, by: user, at: receivedAt, work.sql) { return Self.reply(done) }
        let streak = streaks.settled(stored, at: work.now)
        try repairs.rules(for: streak).check(receivedAt: receivedAt)
        try Self.match(request.streakValue, streak)
        let (name, price) = try await spend(operation, method, paid, of: user, work)
        let command = StreakCommand.repair(user, receivedAt: receivedAt, id: operation)
        let written = try await streaks.writer.apply(command, to: stored, operation: operation, work)
        let done = PaymentRepository.Repair(
            count: Int32(written.change.state.count),
            method: name,
            price: price,
            at: work.now
        )
        try await PaymentRepository.addRepair(operation, of: user, done, on: streak.today, work.sql)
        return Self.reply(done)
    }

    /// A credit first, whatever was asked; else what was paid just now, XP, or the free one of the month.
    private func spend(
        _ operation: OperationID,
        _ method: PaymentMethod,
        _ paid: PaidPrice?,
        of user: UserID,
        _ work: UnitOfWork
    ) async throws -> (method: String, price: PaidPrice) {
        if let paid {
            guard try await GoodsStock.take(method == .coins ? .restore : .repair, from: user, work.sql) else {
                // Billing has granted it, so it was a credit that has been used.
                throw Payments.used
            }
            return (method.rawValue, paid)
        }
        if try await GoodsStock.take(.repair, from: user, work.sql) {
            return ("credit", PaidPrice(milli: 0, currency: "USD", transaction: "credit"))
        }
        switch method {
        case .xp:
            try await XPLedger.spend(XPRules.repairPrice, by: user, key: "repair:\(operation)", cause: "repair", work)
            return (
                method.rawValue, PaidPrice(milli: Int64(XPRules.repairPrice) * 1000, currency: "XP", transaction: "\(operation)")
            )
        case .free:
            guard try await streaks.entitlements.isPremium(user, now: work.now, work.sql),
                try await repairs.isFreeRepairLeft(for: user, at: work.now, work.sql)
            else { throw ServiceError.freeRepairUsed }
            return (method.rawValue, PaidPrice(milli: 0, currency: "USD", transaction: "\(operation)"))
        case .coins, .stripe, .applePay, .googlePay:
            // Another request has used the credit meanwhile.
            throw ServiceError.unavailable("Your repair credit has just been used.")
        }
    }

    /// The person must have seen what they pay for.
    private static func match(_ value: Int32, _ streak: SettledCheckIns) throws(ServiceError) {
        let count = streak.broken?.count ?? 0
        guard Int(value) == count else {
            throw ServiceError(
                .failedPrecondition,
                "STREAK_VALUE_MISMATCH",
                "The streak to repair has another value",
                details: [
                    .init(field: "broken_streak_value", message: "\(count)"), .init(field: "streak_value", message: "\(value)"),
                ]
            )
        }
    }

    private static func reply(_ repair: PaymentRepository.Repair) -> RepairStreakReply {
        RepairStreakReply(
            data: RepairedStreak(
                streakRepaired: true,
                restoredStreak: repair.count,
                payment: CheckInPayment(
                    amount: repair.price.amount,
                    currency: repair.price.currency,
                    transactionID: repair.price.transaction
                ),
                badgeEarned: .secondChance,
                message: "Streak Repaired! Your \(repair.count)-day streak is back. Welcome back! 🔥"
            )
        )
    }
}

extension EarnedBadge {
    /// The badge of who has repaired a streak. Its picture is in the link itself.
    fileprivate static let secondChance = EarnedBadge(
        id: "second_chance",
        title: "Second Chance",
        description: "Repaired a streak",
        iconURL: "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 100 100'%3E"
            + "%3Ctext y='80' font-size='80'%3E%F0%9F%94%84%3C/text%3E%3C/svg%3E"
    )
}

extension ServiceError {
    fileprivate static let notBroken = ServiceError(.failedPrecondition, "STREAK_NOT_BROKEN", "Your streak is not broken.")
    fileprivate static let freeRepairUsed = ServiceError(
        .failedPrecondition,
        "FREE_REPAIR_USED",
        "Your free repair of this month has been used."
    )
}
