internal import BillingAPI
internal import BillingDomain
internal import Database
internal import Kernel
internal import Outbox

/// What an operation came to in a ledger (RC-4).
enum TokenOutcome: Sendable {
    /// Posted now.
    case posted(Posted)
    /// Posted before: the balance right after it.
    case known(balance: Int64)
    /// There was no token to spend, or none was spent that could come back.
    case refused
}

/// Recovery tokens in the ledger, spent and refunded by operations of other services: each once, and each always with the same answer.
struct TokenOperations: Sendable {
    let ledger: LedgerRepository

    /// Spends a token.
    func spend(
        _ operation: OperationID,
        of user: UserID,
        on streak: StreakID,
        id: LedgerEntryID,
        now: Instant,
        _ sql: Transaction
    ) async throws -> TokenOutcome {
        let posting = Posting(
            user: user,
            type: .used,
            amount: -1,
            against: .uses,
            streak: streak,
            note: "A streak was recovered",
            key: Self.spendKey(operation)
        )
        do { return try await outcome(of: posting, id: id, now: now, sql) } catch let error as ServiceError
            where error == .noTokens
        {
            return .refused
        }
    }

    /// Gives the token of an operation back.
    func refund(_ operation: OperationID, to user: UserID, note: String, id: LedgerEntryID, now: Instant, _ sql: Transaction)
        async throws -> TokenOutcome
    {
        _ = try await ledger.lock(user, .recoveryTokens, sql)
        guard let spent = try await ledger.find(Self.spendKey(operation), of: user, sql) else { return .refused }
        let posting = Posting(
            user: user,
            type: .refunded,
            amount: 1,
            against: .uses,
            streak: spent.streak,
            note: note,
            key: "refunded \(operation)"
        )
        return try await outcome(of: posting, id: id, now: now, sql)
    }

    private static func spendKey(_ operation: OperationID) -> String { "used \(operation)" }

    private func outcome(of posting: Posting, id: LedgerEntryID, now: Instant, _ sql: Transaction) async throws -> TokenOutcome {
        if let posted = try await ledger.post(posting, id: id, now: now, sql) { return .posted(posted) }
        guard let known = try await ledger.find(posting.key, of: posting.user, sql) else { throw ServiceError.internal }
        return .known(balance: known.balanceAfter)
    }
}

extension UnitOfWork {
    /// Emits the new balance, once.
    ///
    /// - Returns: the balance after the operation; nil when it was refused.
    func balance(after outcome: TokenOutcome, of user: UserID) async throws -> Int32? {
        switch outcome {
        case .posted(let posted):
            try await emit(posted, of: user, .recoveryTokens)
            return Int32(clamping: posted.balance)
        case .known(let balance): return Int32(clamping: balance)
        case .refused: return nil
        }
    }

    /// Posts, and emits a changed balance of recovery tokens.
    ///
    /// - Returns: nil when the key had been posted before.
    @discardableResult
    func post(_ posting: Posting, _ ledger: LedgerRepository) async throws -> Posted? {
        guard let posted = try await ledger.post(posting, id: ids.make(), now: now, sql) else { return nil }
        try await emit(posted, of: posting.user, posting.currency)
        return posted
    }

    private func emit(_ posted: Posted, of user: UserID, _ currency: LedgerCurrency) async throws {
        guard currency == .recoveryTokens else { return }
        try await emit(RecoveryBalanceChanged(userID: user, version: posted.version, balance: Int32(clamping: posted.balance)))
    }
}
