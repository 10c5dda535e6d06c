internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaCore
internal import MediaDomain
internal import Replicas
internal import SocialAPI

/// Cards of the members of a streak, as a user asks for them and shares them (MC-1, MC-2).
struct SharedCards: Sendable {
    /// What a card is about.
    struct Subject: Sendable {
        let streak: StreakID
        let milestone: Int32
        let style: MediaDomain.CardStyle
        /// First counted date of the run that reached the milestone, and the date that made it.
        let days: ClosedRange<CalendarDate>
        /// Whom the card shows: both of a mutual streak, otherwise the one who asks.
        let people: [UserID]
        let kind: CardSubject
        /// The circle whose streak it is.
        let circle: CircleID?
    }

    let cards: MilestoneCards
    let profiles: ProfileReplica
    let friends: FriendsClient
    let circles: CirclesClient
    let links: MediaLinks
    let clock: any Clock

    /// The card, made now or before.
    ///
    /// - Parameter id: of the card if it is new.
    /// - Throws: `FRIEND_UNAVAILABLE` when the account of one whom it shows is not active.
    func card(_ id: MilestoneCardID, of subject: Subject, _ context: CallContext) async throws -> StoredCard {
        let people = subject.people.sorted()
        let known = try await profiles.profiles(people, context: context)
        let shown = people.compactMap { known[$0] }.filter(\.isVisible)
        guard shown.count == people.count else {
            throw ServiceError(.failedPrecondition, "FRIEND_UNAVAILABLE", "The other person's account is not active.")
        }
        let wanted = StoredCard(
            id: id,
            streak: subject.streak,
            milestone: subject.milestone,
            style: subject.style,
            firstDay: subject.days.lowerBound,
            lastDay: subject.days.upperBound,
            people: people,
            subject: subject.kind,
            circle: subject.circle,
            // All whom it shows own it: the gateway serves it while none is withheld.
            blobKey: "cards/\(people.map(\.description).joined(separator: "_"))/\(id).png",
            standing: .beingMade(until: .epoch),
            token: nil
        )
        return try await cards.made(wanted, shown, context: context)
    }

    /// The page of a card that a user shares, a new one if the same user had withdrawn it.
    ///
    /// - Parameter takesBack: false: what this user has withdrawn stays so.
    /// - Returns: its token; nil while the other one withdraws it, when the two are not friends any more, and when the user is not in the
    ///   circle any more.
    func publish(_ card: StoredCard, by user: UserID, takesBack: Bool = true, _ context: CallContext) async throws -> String? {
        if let friend = card.people.first(where: { $0 != user }) {
            guard try await areFriends(user, friend, context) else { return nil }
        }
        if let circle = card.circle {
            guard try await isMember(user, of: circle, context) else { return nil }
        }
        return try await cards.repository.reopen(card.id, for: user, takesBack: takesBack, token: MilestoneCards.token())
    }

    /// A card as `user` sees it.
    func view(_ card: StoredCard, for user: UserID) throws -> GenerateMilestoneCardReply {
        GenerateMilestoneCardReply(
            milestoneID: card.id,
            streakID: card.streak,
            milestone: card.milestone,
            style: MediaAPI.CardStyle(rawValue: card.style.rawValue),
            imageURL: try links.link(card.blobKey, for: user, now: clock.now()),
            shareURL: card.token.map { links.address("/s/\($0)") },
            width: Int32(CardPoster.width),
            height: Int32(CardPoster.height)
        )
    }

    private func isMember(_ user: UserID, of circle: CircleID, _ context: CallContext) async throws -> Bool {
        let request = ListCircleSnapshotsRequest(limit: 1, circleID: circle)
        let asked = try await circles.listCircleSnapshots(request, context: context)
        return asked.circles.contains { $0.circleID == circle && !$0.deleted && $0.members.contains { $0.userID == user } }
    }

    private func areFriends(_ user: UserID, _ friend: UserID, _ context: CallContext) async throws -> Bool {
        do {
            _ = try await friends.findFriendship(FindFriendshipRequest(userID: user, friendID: friend), context: context)
            return true
        } catch let error as ServiceError where error.code == .notFound {
            return false
        }
    }
}
