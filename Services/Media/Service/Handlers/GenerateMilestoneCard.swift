internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaDomain
internal import Replicas
internal import StreaksAPI

extension MediaService {
    /// MC-1. What is true of the streak is asked of `streaks`; the card is made once and found again by everybody after that.
    func generateMilestoneCard(_ request: GenerateMilestoneCardRequest, context: CallContext) async throws
        -> GenerateMilestoneCardReply
    {
        let user = try context.requireUser()
        // Nothing but the answer belongs to the key (PF-4): making a card twice is finding it.
        return try await mutations.run(
            context,
            request,
            completedBy: { _ in try await generate(request, by: user, context) },
            { _ in GenerateMilestoneCardReply() }
        )
    }

    private func generate(_ request: GenerateMilestoneCardRequest, by user: UserID, _ context: CallContext) async throws
        -> GenerateMilestoneCardReply
    {
        let streak = try StreakID(parsing: request.streakID, field: "streak_id")
        let facts = try await streaks.getMilestoneFacts(
            GetMilestoneFactsRequest(
                userID: user.description,
                streakID: streak.description,
                milestone: request.milestone ?? 0
            ),
            context: context
        )
        guard facts.isMember, let friend = UserID(facts.friendID),
            try await blocks.hidden(from: user, among: [friend]).isEmpty
        else { throw ServiceError.notFound("streak") }
        guard facts.isReached, let firstDay = facts.fromDate.flatMap({ CalendarDate($0) }),
            let lastDay = facts.toDate.flatMap({ CalendarDate($0) })
        else { throw Self.notReached(request.milestone, count: facts.currentCount) }
        var card = try await card(
            of: streak,
            facts.milestone,
            MediaDomain.CardStyle(rawValue: request.style.rawValue) ?? .orange,
            firstDay...max(firstDay, lastDay),
            [user, friend],
            context
        )
        if card.token == nil { card.token = try await publish(card, by: user, context) }
        return try reply(card, for: user)
    }

    /// The same for `streaks`, which knows the facts. Looking is not sharing: what somebody has withdrawn stays so.
    func makeMilestoneCard(_ request: MakeMilestoneCardRequest, context: CallContext) async throws -> GenerateMilestoneCardReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let friend = try UserID(parsing: request.friendID, field: "friend_id")
        guard let firstDay = CalendarDate(request.fromDate), let lastDay = CalendarDate(request.toDate), firstDay <= lastDay
        else {
            throw ServiceError.validation(field: "to_date", "must not be before from_date")
        }
        guard try await blocks.hidden(from: user, among: [friend]).isEmpty else { throw ServiceError.notFound("streak") }
        var card = try await card(
            of: try StreakID(parsing: request.streakID, field: "streak_id"),
            request.milestone,
            .orange,
            firstDay...lastDay,
            [user, friend],
            context
        )
        if card.token == nil { card.token = try await publish(card, by: user, takesBack: false, context) }
        return try reply(card, for: user)
    }

    private func card(
        of streak: StreakID,
        _ milestone: Int32,
        _ style: MediaDomain.CardStyle,
        _ days: ClosedRange<CalendarDate>,
        _ members: [UserID],
        _ context: CallContext
    ) async throws -> StoredCard {
        let people = members.sorted()
        let known = try await profiles.profiles(people, context: context)
        let shown = people.compactMap { known[$0] }.filter(\.isVisible)
        guard shown.count == people.count else {
            throw ServiceError(.failedPrecondition, "FRIEND_UNAVAILABLE", "The other person's account is not active.")
        }
        let id: MilestoneCardID = ids.make()
        let wanted = StoredCard(
            id: id,
            streak: streak,
            milestone: milestone,
            style: style,
            firstDay: days.lowerBound,
            lastDay: days.upperBound,
            people: people,
            // Both own it: the gateway serves it while neither is withheld.
            blobKey: "cards/\(people[0])_\(people[1])/\(id).png",
            standing: .beingMade(until: .epoch),
            token: nil
        )
        return try await cards.made(wanted, shown, context: context)
    }

    private func reply(_ card: StoredCard, for user: UserID) throws -> GenerateMilestoneCardReply {
        GenerateMilestoneCardReply(
            milestoneID: card.id.description,
            streakID: card.streak.description,
            milestone: card.milestone,
            style: MediaAPI.CardStyle(rawValue: card.style.rawValue),
            imageURL: try links.link(card.blobKey, for: user, now: clock.now()),
            shareURL: card.token.map { links.address("/s/\($0)") },
            width: Int32(CardPoster.width),
            height: Int32(CardPoster.height)
        )
    }

    private static func notReached(_ milestone: Int32?, count: Int32) -> ServiceError {
        let what =
            milestone.map { "The streak has not reached \($0) as a milestone" } ?? "The streak has not reached a milestone yet"
        return ServiceError(.failedPrecondition, "MILESTONE_NOT_REACHED", "\(what); it is at \(count).")
    }
}
