internal import BillingAPI
internal import Bus

extension BillingService {
    /// RC-1: the balance with the last 20 rows.
    func getRecoveryBalance(_: GetRecoveryBalanceRequest, context: CallContext) async throws -> RecoveryBalance {
        let user = try context.requireUser()
        let balance = try await tokens.balance(of: user)
        return RecoveryBalance(balance: balance, transactions: try await tokens.entries(of: user, limit: 20))
    }
}
