internal import BillingAPI
internal import BillingDomain
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// RC-4. A refusal is kept as well: one operation, one answer.
struct SpendToken: MutationHandler {
    let tokens: TokenOperations
    let mutations: Mutations

    func handle(_ request: SpendTokenRequest, _ context: CallContext) async throws -> Once<SpendTokenReply> {
        try await mutations.once(operation: request.operationID, of: request.userID, context, request) { [tokens] work in
            let outcome = try await tokens.spend(
                request.operationID,
                of: request.userID,
                on: request.streakID,
                id: work.ids.make(),
                now: work.now,
                work.sql
            )
            guard let balance = try await work.balance(after: outcome, of: request.userID) else { return .failure(.noTokens) }
            return .success(SpendTokenReply(balance: balance))
        }
    }
}
