internal import BillingAPI
internal import BillingDomain
internal import Bus

/// RC-1: the balance with the last 20 rows.
struct GetRecoveryBalance: QueryHandler {
    let ledger: LedgerRepository

    func handle(_: GetRecoveryBalanceRequest, _ context: CallContext) async throws -> RecoveryBalance {
        let user = try context.requireUser()
        let balance = try await ledger.balance(of: user, .recoveryTokens)
        let rows = try await ledger.entries(of: user, limit: 20)
        return RecoveryBalance(balance: Int32(clamping: balance), transactions: rows.map(TokenEntry.init))
    }
}
