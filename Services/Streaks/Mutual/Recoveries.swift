internal import BillingAPI
internal import Bus
internal import Kernel
internal import Logging
internal import Outbox
internal import StreaksCore
internal import StreaksDomain

/// Drives recoveries to their end (RC-4, D6): recorded → token spent by `billing` → streak restored, or the token back. Each step may be
/// repeated.
///
/// The operation's row comes first, and `billing` gives one operation id one answer. So the request, a repeat of it, the partner's own
/// request and, after a crash, the sweeper all bring an unfinished operation to the same end.
struct Recoveries: Sendable {
    /// How long an operation is left to the process that drives it. Driving it twice does no harm.
    static let lease = Interval.seconds(3)
    /// How often a waiting request checks whether it has ended.
    private static let pollInterval = Duration.milliseconds(20)
    /// Least time of a request that waiting makes sense in, and that is kept for saying that nothing came of it.
    private static let leastTime = Interval.milliseconds(300)

    let repository: RecoveryOperationRepository
    let reads: StreakReads
    let writer: StreakWriter
    let billing: BillingClient
    let work: UnitOfWorkFactory
    let logger: Logger

    /// Records that a token of `user` is to be spent, unless the streak would refuse it: then nothing is spent and given back for nothing.
    ///
    /// - Parameter receivedAt: when it was asked for: what decides whether that was in time.
    /// - Returns: the operation; the one under way when the same user asks again.
    /// - Throws: the streak's refusal; `NOT_FOUND` to a user who is no member, or from whom a block hides the partner; `RECOVERY_IN_PROGRESS`
    ///   when the partner's recovery is under way.
    func begin(_ streak: StreakID, by user: UserID, receivedAt: Instant, _ work: UnitOfWork) async throws -> OperationID {
        guard let stored = try await writer.store.lock([streak], work.sql).first,
            try await reads.status(of: streak, seenBy: user, work.sql) != nil
        else { throw ServiceError.notFound("streak") }
        if let other = try await repository.underWay(streak, work.sql) {
            guard other.user == user else { throw ServiceError.recoveryInProgress }
            return other.id
        }
        let now = max(work.now, stored.row.settledAt)
        let change = try stored.ledger.applying(
            .recover(user, receivedAt: receivedAt),
            .mutual,
            at: now,
            settledAt: stored.row.settledAt
        )
        guard let date = change.ledger.recoveries.last?.from else { throw ServiceError.internal }
        let id: OperationID = work.ids.make()
        try await repository.insert(
            id,
            streak,
            user,
            date: date,
            receivedAt: receivedAt,
            lease: SystemClock.now(),
            work.sql
        )
        return id
    }

    /// The end of an operation: waits for the process that drives it, and drives it if none does.
    ///
    /// - Returns: tokens left when this one was spent.
    /// - Throws: the refusal it ended with; `UNAVAILABLE` when it cannot end now; then the sweeper continues.
    func end(of id: OperationID, context: CallContext) async throws -> Int32 {
        while true {
            guard let operation = try await repository.find(id) else { throw ServiceError.notFound("recovery") }
            switch operation.standing {
            case .done(let balance): return balance
            case .void(let refusal): throw refusal
            case .spending, .returning: break
            }
            let now = SystemClock.now()
            if let leased = try await repository.lease(id, now: now, until: now + Self.lease) {
                let asking = context.child(timeout: context.remaining - Self.leastTime)
                do { try await drive(leased, context: asking) } catch let error as ServiceError where error.isPassing {
                    throw ServiceError.recoveryUnfinished
                }
            } else {
                guard context.remaining > Self.leastTime else { throw ServiceError.recoveryUnfinished }
                try await Task.sleep(for: Self.pollInterval)
            }
        }
    }

    /// Brings operations to their end that no process drives. - Returns: 0: what it leased is not due again at once.
    func sweep() async throws -> Int {
        // Leases run on the machine's clock: moving the development clock must not end a request's lease.
        let now = SystemClock.now()
        for operation in try await repository.leaseStranded(now: now, until: now + Self.lease, limit: 20) {
            do {
                try await drive(operation, context: CallContext(deadline: now + .seconds(10)))
                logger.info("an unfinished recovery was brought to its end", metadata: ["operation": "\(operation.id)"])
            } catch {
                logger.warning("an unfinished recovery waits", metadata: ["operation": "\(operation.id)", "error": "\(error)"])
            }
        }
        return 0
    }

    private func drive(_ operation: RecoveryOperation, context: CallContext) async throws {
        var standing = operation.standing
        do {
            while true {
                switch standing {
                case .spending: standing = try await spend(operation, context)
                case .returning(let refusal): standing = try await giveBack(operation, refusal, context)
                case .done, .void: return
                }
            }
        } catch {
            try? await repository.release(operation.id, now: SystemClock.now())
            throw error
        }
    }

    private func spend(_ operation: RecoveryOperation, _ context: CallContext) async throws -> RecoveryOperation.Standing {
        let request = SpendTokenRequest(operationID: operation.id, userID: operation.user, streakID: operation.streak)
        let balance: Int32
        do { balance = try await billing.spendToken(request, context: context).balance } catch let error as ServiceError
            where error.reason == "NO_RECOVERY_TOKENS"
        {
            try await repository.void(operation.id, error)
            return .void(error)
        }
        return try await restore(operation, balance, context)
    }

    /// The streak and the end of the operation in one transaction.
    private func restore(_ operation: RecoveryOperation, _ balance: Int32, _ context: CallContext) async throws
        -> RecoveryOperation.Standing
    {
        try await work.run(context) { [repository, writer] work in
            let stored = try await writer.store.lock([operation.streak], work.sql).first
            guard try await repository.lockSpending(operation.id, work.sql) else {
                // Another process was faster.
                guard let ended = try await repository.find(operation.id)?.standing else { throw ServiceError.internal }
                return ended
            }
            do {
                guard let stored else { throw ServiceError.notFound("streak") }
                try await writer.recover(stored, operation, work)
                try await repository.finish(operation.id, balance: balance, work.sql)
                return .done(balance: balance)
            } catch let refusal as ServiceError where refusal.code != .internal {
                try await repository.giveBack(operation.id, refusal, work.sql)
                return .returning(refusal)
            }
        }
    }

    private func giveBack(_ operation: RecoveryOperation, _ refusal: ServiceError, _ context: CallContext) async throws
        -> RecoveryOperation.Standing
    {
        let request = RefundTokenRequest(operationID: operation.id, userID: operation.user)
        do { _ = try await billing.refundToken(request, context: context) } catch let error as ServiceError
            where error.reason == "TOKEN_NOT_SPENT"
        {
            // The account was purged, and with it what the ledger knew of the operation.
        }
        try await repository.endReturn(operation.id)
        return .void(refusal)
    }
}

extension StreakWriter {
    /// Uses the token of an operation for the date it was asked for.
    ///
    /// - Throws: the streak's refusal; then nothing was changed.
    fileprivate func recover(_ stored: StoredStreak, _ operation: RecoveryOperation, _ work: UnitOfWork) async throws {
        let state = fold(stored.ledger, .mutual, at: max(work.now, stored.row.settledAt))
        guard state.dateToRecover == operation.date else { throw ServiceError.recoveryNotNeeded }
        let command = StreakCommand.recover(operation.user, receivedAt: operation.receivedAt)
        try await apply(command, to: stored, operation: operation.id, work)
    }
}

extension ServiceError {
    static let recoveryInProgress = ServiceError(
        .aborted,
        "RECOVERY_IN_PROGRESS",
        "A recovery of this streak is under way.",
        retryAfter: 1
    )
    static let recoveryUnfinished = ServiceError(
        .unavailable,
        "UNAVAILABLE",
        "The recovery is under way and not finished; ask again with the same Idempotency-Key.",
        retryAfter: 2
    )
    static let recoveryNotNeeded = ServiceError(
        .failedPrecondition,
        "STREAK_NOT_BROKEN",
        "The date this recovery was for does not need it any more."
    )

    /// Whether trying again later may help.
    fileprivate var isPassing: Bool { code == .unavailable || code == .deadlineExceeded }
}
