internal import BillingAPI
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// BI-1: stores an event and answers; a job applies it a moment later. Only an answer of 200 ends RevenueCat's tries, so whatever is wrong with
/// an event besides its form is found afterwards.
struct RevenueCatWebhook: MutationHandler {
    let secrets: WebhookSecrets
    let events: StoreEvents
    let mutations: Mutations

    func handle(_ request: RevenueCatWebhookRequest, _ context: CallContext) async throws -> Once<RevenueCatWebhookReply> {
        // Before anything is parsed. Signatures are made by a clock that the development clock does not move.
        try secrets.check(
            authorization: request.authorization,
            signature: request.signature,
            body: request.body,
            now: SystemClock.now()
        )
        let received = try ReceivedEvent(body: request.body, receivedAt: mutations.work.now(), premium: events.premium)
        return try await mutations.once(context, request) { [events] work in
            work.whenEnded { [stored = events.stored] in stored.wake() }
            let isNew = try await events.events.insert(received, body: request.body, now: work.now, work.sql)
            return RevenueCatWebhookReply(isNew: isNew)
        }
    }
}
