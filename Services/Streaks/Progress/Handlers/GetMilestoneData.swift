internal import Bus
internal import CommonAPI
internal import Kernel
internal import MediaAPI
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The texts and colours of a milestone card, for clients that draw it themselves (MC-1).
struct GetMilestoneData: QueryHandler {
    let streaks: CelebratedStreaks
    let profiles: ProfileReplica
    let cards: CardsClient

    func handle(_ request: GetMilestoneDataRequest, _ context: CallContext) async throws -> MilestoneData {
        let user = try context.requireUser()
        let id = request.streakID
        guard let found = try await streaks.find(id, seenBy: user) else { throw ServiceError.notFound("streak") }
        let (state, subject) = (found.state, found.subject)
        let known = try await profiles.profiles([user] + [found.friend].compactMap(\.self), context: context)
        func summary(_ member: UserID) -> UserSummary {
            known[member]?.summary ?? .unavailable(member)
        }
        let (you, theirs) = (summary(user), found.friend.map(summary))
        let reached = found.celebrations.reached
        let card = await card(of: found, reached.last, for: user, context)
        let next = found.nextMilestone
        return MilestoneData(
            streakID: id,
            currentCount: Int32(state.count),
            longestCount: Int32(state.longest),
            milestone: Int32(reached.last?.count ?? 0),
            reached: reached.map { MilestoneMark(count: Int32($0.count), date: $0.on) },
            nextMilestone: Int32(next ?? 0),
            daysToNextMilestone: Int32(next.map { $0 - state.count } ?? 0),
            you: you,
            friend: theirs,
            fromDate: state.runStart,
            toDate: state.lastCompletedDate,
            text: CardText(
                emoji: subject.emoji,
                title: CardParts.title,
                names: CardParts.names([you.username, theirs?.username ?? ""]),
                dates: CardParts.dates(state.runStart, state.lastCompletedDate),
                watermark: CardParts.watermark,
                share: subject.share(count: state.count, friend: theirs?.username ?? ""),
                subject: subject.name,
                milestoneTitle: reached.last.map { subject.title(of: $0.count) } ?? ""
            ),
            styles: subject.styles.map { style in
                StreaksAPI.CardStyle(name: style.name, fromColor: style.from, toColor: style.to, textColor: style.text)
            },
            milestoneID: card?.milestoneID,
            imageURL: card?.imageURL,
            shareURL: card?.shareURL,
            type: found.row.kind.typeName
        )
    }

    /// The card to share and its page; nil before the first milestone, and when media does not answer in time: the rest does not depend
    /// on it.
    private func card(
        of found: CelebratedStreaks.Found,
        _ reached: Celebrations.Reached?,
        for user: UserID,
        _ context: CallContext
    ) async -> GenerateMilestoneCardReply? {
        guard let reached else { return nil }
        let request = MakeMilestoneCardRequest(
            userID: user,
            friendID: found.friend,
            streakID: found.row.id,
            milestone: Int32(reached.count),
            fromDate: reached.from,
            toDate: reached.on,
            emoji: found.subject.emoji,
            subject: found.subject.name,
            title: found.subject.title(of: reached.count),
            style: found.subject.style,
            circleID: found.circle
        )
        return try? await cards.makeMilestoneCard(request, context: context.child(timeout: .seconds(4)))
    }
}
