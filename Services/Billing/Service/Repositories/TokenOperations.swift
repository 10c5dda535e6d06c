internal import BillingDomain
internal import Database
internal import Kernel

/// What an operation came to in a ledger (RC-4).
enum TokenOutcome: Sendable {
    /// Posted now: the balance after it with its version, to be emitted.
    case posted(balance: Int32, version: Int64)
    /// Posted before: the balance right after it.
    case known(balance: Int32)
    /// There was no token to spend, or none was spent that could come back.
    case refused
}

/// Spending and refunding by operations of other services: each once, and each always with the same answer.
extension TokenRepository {
    /// Takes a token.
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
            streak: streak,
            note: "A streak was recovered",
            key: Self.spendKey(operation)
        )
        do {
            return try await outcome(of: posting, id: id, now: now, sql)
        } catch let error as ServiceError where error == .noTokens { return .refused }
    }

    /// Gives the token of an operation back.
    func refund(_ operation: OperationID, to user: UserID, note: String, id: LedgerEntryID, now: Instant, _ sql: Transaction)
        async throws -> TokenOutcome
    {
        _ = try await lock(user, sql)
        let spent = try await sql.query(
            "SELECT streak_id FROM token_entry WHERE user_id = \(user) AND posting_key = \(Self.spendKey(operation))"
        )
        guard let streak = try spent.first?.decode(as: StreakID?.self) else { return .refused }
        let posting = Posting(
            user: user,
            type: .refunded,
            amount: 1,
            streak: streak,
            note: note,
            key: "refunded \(operation)"
        )
        return try await outcome(of: posting, id: id, now: now, sql)
    }

    private static func spendKey(_ operation: OperationID) -> String { "used \(operation)" }

    private func outcome(of posting: Posting, id: LedgerEntryID, now: Instant, _ sql: Transaction) async throws -> TokenOutcome {
        if let (balance, version) = try await post(posting, id: id, now: now, sql) {
            return .posted(balance: balance, version: version)
        }
        let rows = try await sql.query(
            "SELECT balance_after FROM token_entry WHERE user_id = \(posting.user) AND posting_key = \(posting.key)"
        )
        guard let balance = try rows.first?.decode(as: Int32.self) else { throw ServiceError.internal }
        return .known(balance: balance)
    }
}
