internal import Bus
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import ServiceRuntime

/// Notes where and when a member has shared a card, and gives it a page (MC-2).
struct MarkMilestoneShared: MutationHandler {
    let cards: SharedCards
    let mutations: Mutations
    /// Where a picture is only saved.
    private static let kept = "photos"
    private var repository: CardRepository { cards.cards.repository }

    func handle(_ request: MarkMilestoneSharedRequest, _ context: CallContext) async throws -> Once<MarkMilestoneSharedReply> {
        let user = try context.requireUser()
        return try await mutations.once(
            context,
            request,
            completedBy: { try await published($0, by: user, context) },
            { work in
                let id = request.milestoneID
                guard let streak = try await CardRepository.share(id, by: user, on: request.platform, at: work.now, work.sql)
                else {
                    throw ServiceError.notFound("milestone card")
                }
                if request.platform != Self.kept {
                    try await work.emit(
                        CardShared(
                            userID: user,
                            milestoneID: id,
                            platform: request.platform,
                            sharedAt: work.now,
                            streakID: streak
                        )
                    )
                }
                return MarkMilestoneSharedReply(milestoneID: id, platform: request.platform, sharedAt: work.now)
            }
        )
    }

    /// A picture that is only saved is shown to no one; for everything else the page must be found.
    private func published(_ noted: MarkMilestoneSharedReply, by user: UserID, _ context: CallContext) async throws
        -> MarkMilestoneSharedReply
    {
        guard noted.platform != Self.kept, let card = try await repository.find(noted.milestoneID) else { return noted }
        var reply = noted
        reply.shareURL = try await cards.publish(card, by: user, context).map { cards.links.address("/s/\($0)") }
        return reply
    }
}
