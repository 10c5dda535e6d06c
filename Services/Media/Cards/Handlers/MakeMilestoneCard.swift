internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaDomain
internal import Outbox
internal import Replicas
internal import ServiceRuntime

/// The card of a milestone for `streaks`, which knows the facts (MC-1). Reading a card is not sharing it: a page that its user has withdrawn
/// stays so.
struct MakeMilestoneCard: MutationHandler {
    let cards: SharedCards
    let blocks: BlockReplica
    let mutations: Mutations

    func handle(_ request: MakeMilestoneCardRequest, _ context: CallContext) async throws -> Once<GenerateMilestoneCardReply> {
        try Self.check(request)
        guard try await blocks.hidden(from: request.userID, among: [request.friendID].compactMap(\.self)).isEmpty else {
            throw ServiceError.notFound("streak")
        }
        return try await mutations.once(
            context,
            request,
            completedBy: { try await make($0.milestoneID, request, context) },
            { work in GenerateMilestoneCardReply(milestoneID: work.ids.make(), streakID: request.streakID) }
        )
    }

    func problems(of request: MakeMilestoneCardRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { try Self.check(request) }
    }

    private static func check(_ request: MakeMilestoneCardRequest) throws(ServiceError) {
        guard request.fromDate <= request.toDate else { throw .validation(field: "to_date", "must not be before from_date") }
    }

    private func make(_ id: MilestoneCardID, _ request: MakeMilestoneCardRequest, _ context: CallContext) async throws
        -> GenerateMilestoneCardReply
    {
        let subject = SharedCards.Subject(
            streak: request.streakID,
            milestone: request.milestone,
            style: MediaDomain.CardStyle(name: request.style) ?? .orange,
            days: request.fromDate...request.toDate,
            people: [request.userID] + [request.friendID].compactMap(\.self),
            kind: CardSubject(
                emoji: request.emoji,
                name: request.subject,
                title: request.title,
                isTeam: request.circleID != nil
            ),
            circle: request.circleID
        )
        var card = try await cards.card(id, of: subject, context)
        if card.token == nil { card.token = try await cards.publish(card, by: request.userID, takesBack: false, context) }
        return try cards.view(card, for: request.userID)
    }
}
