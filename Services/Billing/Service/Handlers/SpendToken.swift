internal import BillingAPI
internal import BillingDomain
internal import Bus
internal import Kernel
internal import Outbox

extension BillingService {
    /// RC-4. A refusal is kept as well: one operation, one answer.
    func spendToken(_ request: SpendTokenRequest, context: CallContext) async throws -> SpendTokenReply {
        let operation = try OperationID(parsing: request.operationID, field: "operation_id")
        let user = try UserID(parsing: request.userID, field: "user_id")
        let streak = try StreakID(parsing: request.streakID, field: "streak_id")
        let balance = try await work.run(context) { [tokens] work in
            try await work.balance(
                after: tokens.spend(operation, of: user, on: streak, id: work.ids.make(), now: work.now, work.sql),
                of: user
            )
        }
        guard let balance else { throw ServiceError.noTokens }
        return SpendTokenReply(balance: balance)
    }
}

extension UnitOfWork {
    /// Tells the new balance, once.
    ///
    /// - Returns: the balance after the operation; nil when it was refused.
    func balance(after outcome: TokenOutcome, of user: UserID) async throws -> Int32? {
        switch outcome {
        case .posted(let balance, let version):
            try await emit(RecoveryBalanceChanged(userID: user.description, version: version, balance: balance))
            return balance
        case .known(let balance): return balance
        case .refused: return nil
        }
    }
}
