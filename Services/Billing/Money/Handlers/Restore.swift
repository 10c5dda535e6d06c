internal import BillingAPI
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// BI-2: asks the store what the user has paid for, and applies it. The answer is ordered among the webhook's events like one of them.
struct Restore: MutationHandler {
    let questions: StoreQuestions
    let mutations: Mutations

    func handle(_ request: RestoreRequest, _ context: CallContext) async throws -> Once<Entitlements> {
        let user = try context.requireUser()
        if let known: Once<Entitlements> = try await mutations.known(context, request) { return known }
        // Asked before the transaction, which holds a connection.
        let snapshot = try await questions.ask(about: user)
        return try await mutations.once(context, request) { [questions] work in
            // Purchases that other services have a part in are brought to their end by the job.
            try await questions.apply(snapshot, of: user, work)
            return try await Entitlements(of: user, at: work.now, work.sql)
        }
    }
}
