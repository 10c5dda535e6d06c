internal import Bus
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import ServiceRuntime

/// Withdraws a card's page (MC-2). Everyone whom it names may.
struct RevokeMilestoneShare: MutationHandler {
    let mutations: Mutations

    func handle(_ request: RevokeMilestoneShareRequest, _ context: CallContext) async throws -> Once<RevokeMilestoneShareReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            guard try await CardRepository.withdraw(request.milestoneID, by: user, work.sql) else {
                throw ServiceError.notFound("milestone card")
            }
            return RevokeMilestoneShareReply(milestoneID: request.milestoneID)
        }
    }
}
