import SampleNameAPI
import ServiceKit

/// Greets the caller, once for each idempotency key: the count, the event and the stored reply are one transaction.
struct Greet: MutationHandler {
    let visitors: VisitorRepository
    let mutations: Mutations

    func handle(_ request: GreetRequest, _ context: CallContext) async throws -> Once<GreetReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { [visitors] work in
            // Locks the user's row: events about one user keep their order.
            let visitor = try await visitors.greet(user, work.sql)
            try await work.emit(Greeted(userID: user, greetings: visitor.greetings, greetedAt: work.now))
            let word = request.word.isEmpty ? "Hello" : request.word
            let text = visitor.name.isEmpty ? "\(word)!" : "\(word), \(visitor.name)!"
            return GreetReply(text: text, greetings: visitor.greetings)
        }
    }
}
