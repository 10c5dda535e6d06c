internal import Kernel
internal import Outbox
internal import StreaksCore
internal import StreaksDomain

/// Freezes that were bought: in the hand of the check-in streak at once (CI-2), at most as many as the cap leaves room for.
struct BoughtFreezes: Sendable {
    let writer: StreakWriter

    /// Puts freezes in hand.
    ///
    /// - Parameters:
    ///   - obtainedAt: when they were paid for; nil: now.
    ///   - keepsCredit: what exceeds the cap stays in the stock; otherwise nothing is granted then.
    /// - Returns: nil when it is done; the refusal otherwise.
    func grant(
        _ count: Int32,
        to user: UserID,
        _ operation: OperationID,
        obtainedAt: Instant? = nil,
        keepsCredit: Bool,
        _ work: UnitOfWork
    ) async throws -> ServiceError? {
        let streak = try await writer.solo(.checkIn, of: user, work)
        let policy = writer.policy(for: .checkIn)
        let state = fold(streak.ledger, policy, at: max(work.now, streak.row.settledAt))
        let room = max(0, Int32(policy.freezes?.cap ?? 0) - Int32(state.freezesHeld))
        guard keepsCredit || count <= room else { return .maxFreezes(Int32(state.freezesHeld), policy.freezes?.cap ?? 0) }
        if min(count, room) > 0 {
            try await writer.apply(
                .grantFreezes(Int(min(count, room)), id: operation, obtainedAt: obtainedAt),
                to: streak,
                operation: operation,
                work
            )
        }
        try await GoodsStock.give(.freeze, count - min(count, room), to: user, work.sql)
        return nil
    }

    /// Takes freezes back, credits first, then from the hand; those that were spent are missing.
    ///
    /// - Returns: how many were taken.
    func take(upTo count: Int32, from user: UserID, _ operation: OperationID, _ work: UnitOfWork) async throws -> Int32 {
        // The streak before the stock, as everywhere.
        let streak = try await writer.lockedSolo(.checkIn, of: user, work)
        let credits = try await GoodsStock.take(upTo: count, of: .freeze, from: user, work.sql)
        guard credits < count, let streak else { return credits }
        let state = fold(streak.ledger, writer.policy(for: .checkIn), at: max(work.now, streak.row.settledAt))
        let held = min(count - credits, Int32(clamping: max(0, state.freezesLeft)))
        guard held > 0 else { return credits }
        try await writer.apply(.takeFreezes(Int(held), id: operation), to: streak, operation: operation, work)
        return credits + held
    }
}

extension ServiceError {
    static func maxFreezes(_ held: Int32, _ cap: Int) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            "MAX_FREEZES_REACHED",
            "You can hold at most \(cap) freezes.",
            details: [Detail(field: "quantity", message: "you hold \(held) of at most \(cap)")]
        )
    }
}
