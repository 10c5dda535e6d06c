internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaDomain
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI

/// Makes a card about a milestone, or finds the one that was made before (MC-1). `streaks` says whether the milestone is reached.
struct GenerateMilestoneCard: MutationHandler {
    let cards: SharedCards
    let blocks: BlockReplica
    let streaks: ProgressClient
    let mutations: Mutations

    func handle(_ request: GenerateMilestoneCardRequest, _ context: CallContext) async throws -> Once<GenerateMilestoneCardReply>
    {
        let user = try context.requireUser()
        // Only the answer belongs to the key (PF-4): making a card twice is finding it.
        return try await mutations.alone(context, request) {
            try await mutations.once(
                context,
                request,
                completedBy: { try await generate($0.milestoneID, request, by: user, context) },
                { work in GenerateMilestoneCardReply(milestoneID: work.ids.make(), streakID: request.streakID) }
            )
        }
    }

    private func generate(
        _ id: MilestoneCardID,
        _ request: GenerateMilestoneCardRequest,
        by user: UserID,
        _ context: CallContext
    ) async throws -> GenerateMilestoneCardReply {
        let facts = try await streaks.getMilestoneFacts(
            GetMilestoneFactsRequest(
                userID: user,
                streakID: request.streakID,
                milestone: request.milestone ?? 0
            ),
            context: context
        )
        let friend = facts.friendID
        guard facts.isMember, try await blocks.hidden(from: user, among: [friend].compactMap(\.self)).isEmpty else {
            throw ServiceError.notFound("streak")
        }
        guard facts.isReached, let firstDay = facts.fromDate, let lastDay = facts.toDate else {
            throw Self.notReached(request.milestone, count: facts.currentCount)
        }
        let subject = SharedCards.Subject(
            streak: request.streakID,
            milestone: facts.milestone,
            style: MediaDomain.CardStyle(rawValue: request.style.rawValue) ?? MediaDomain.CardStyle(name: facts.style) ?? .orange,
            days: firstDay...max(firstDay, lastDay),
            people: [user] + [friend].compactMap(\.self),
            kind: CardSubject(
                emoji: facts.emoji,
                name: facts.subject,
                title: facts.title,
                isTeam: facts.circleID != nil
            ),
            circle: facts.circleID
        )
        var card = try await cards.card(id, of: subject, context)
        if card.token == nil { card.token = try await cards.publish(card, by: user, context) }
        return try cards.view(card, for: user)
    }

    private static func notReached(_ milestone: Int32?, count: Int32) -> ServiceError {
        let what =
            milestone.map { "The streak has not reached \($0) as a milestone" } ?? "The streak has not reached a milestone yet"
        return ServiceError(.failedPrecondition, "MILESTONE_NOT_REACHED", "\(what); it is at \(count).")
    }
}
