internal import Bus
internal import Kernel
internal import MediaAPI
internal import SocialAPI

extension MediaService {
    /// MC-2: where a card was shared, and when.
    func markMilestoneShared(_ request: MarkMilestoneSharedRequest, context: CallContext) async throws -> MarkMilestoneSharedReply
    {
        let user = try context.requireUser()
        let id = try MilestoneCardID(parsing: request.milestoneID, field: "milestone_id")
        let now = clock.now()
        guard try await cards.repository.share(id, by: user, on: request.platform, at: now) else {
            throw ServiceError.notFound("milestone card")
        }
        var reply = MarkMilestoneSharedReply(milestoneID: id.description, platform: request.platform, sharedAt: now)
        // Who keeps the picture shows it to nobody; everybody else is to find the page.
        if request.platform != "photos", let card = try await cards.repository.find(id) {
            reply.shareURL = try await publish(card, by: user, context).map { links.address("/s/\($0)") }
        }
        return reply
    }

    /// The page of a card that a person shares, anew if the same person had withdrawn it.
    ///
    /// - Parameter takesBack: false: what this person has withdrawn stays so.
    /// - Returns: its token; nil while the other one withdraws it, and when the two are no friends any more.
    func publish(_ card: StoredCard, by user: UserID, takesBack: Bool = true, _ context: CallContext) async throws -> String? {
        guard let friend = card.people.first(where: { $0 != user }), try await areFriends(user, friend, context) else {
            return nil
        }
        return try await cards.repository.reopen(card.id, for: user, takesBack: takesBack, token: MilestoneCards.token())
    }

    private func areFriends(_ user: UserID, _ friend: UserID, _ context: CallContext) async throws -> Bool {
        do {
            let request = FindFriendshipRequest(userID: user, friendID: friend)
            _ = try await friends.findFriendship(request, context: context)
            return true
        } catch let error as ServiceError where error.code == .notFound {
            return false
        }
    }

    /// MC-2: either of the two withdraws the page, because it names both.
    func revokeMilestoneShare(_ request: RevokeMilestoneShareRequest, context: CallContext) async throws
        -> RevokeMilestoneShareReply
    {
        let user = try context.requireUser()
        let id = try MilestoneCardID(parsing: request.milestoneID, field: "milestone_id")
        guard try await cards.repository.withdraw(id, by: user) else { throw ServiceError.notFound("milestone card") }
        return RevokeMilestoneShareReply(milestoneID: id.description)
    }
}
