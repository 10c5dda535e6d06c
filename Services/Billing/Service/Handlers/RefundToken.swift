internal import BillingAPI
internal import Bus
internal import Kernel

extension BillingService {
    /// RC-4: the streak has refused what the token was spent on.
    func refundToken(_ request: RefundTokenRequest, context: CallContext) async throws -> RefundTokenReply {
        let operation = try OperationID(parsing: request.operationID, field: "operation_id")
        let user = try UserID(parsing: request.userID, field: "user_id")
        let balance = try await work.run(context) { [tokens] work in
            try await work.balance(
                after: tokens.refund(
                    operation,
                    to: user,
                    note: "The streak could not be recovered",
                    id: work.ids.make(),
                    now: work.now,
                    work.sql
                ),
                of: user
            )
        }
        guard let balance else {
            throw ServiceError(.failedPrecondition, "TOKEN_NOT_SPENT", "This operation has taken no token.")
        }
        return RefundTokenReply(balance: balance)
    }
}
