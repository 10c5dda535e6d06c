internal import BillingAPI
internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// RC-4: the streak has refused what the token was spent on.
struct RefundToken: MutationHandler {
    let tokens: TokenOperations
    let mutations: Mutations

    func handle(_ request: RefundTokenRequest, _ context: CallContext) async throws -> Once<RefundTokenReply> {
        try await mutations.once(operation: request.operationID, of: request.userID, context, request) { [tokens] work in
            let outcome = try await tokens.refund(
                request.operationID,
                to: request.userID,
                note: "The streak could not be recovered",
                id: work.ids.make(),
                now: work.now,
                work.sql
            )
            guard let balance = try await work.balance(after: outcome, of: request.userID) else {
                // Not kept: the operation may still spend its token.
                throw ServiceError(.failedPrecondition, "TOKEN_NOT_SPENT", "This operation has taken no token.")
            }
            return .success(RefundTokenReply(balance: balance))
        }
    }
}
