internal import BillingAPI
internal import Bus

/// RC-1: the balance with the last 20 rows.
struct GetRecoveryBalance: QueryHandler {
    let tokens: TokenRepository

    func handle(_: GetRecoveryBalanceRequest, _ context: CallContext) async throws -> RecoveryBalance {
        let user = try context.requireUser()
        let balance = try await tokens.balance(of: user)
        return RecoveryBalance(balance: balance, transactions: try await tokens.entries(of: user, limit: 20))
    }
}
