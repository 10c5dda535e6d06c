internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What a milestone card says of a streak (MC-1).
struct GetMilestoneFacts: QueryHandler {
    let streaks: CelebratedStreaks

    func handle(_ request: GetMilestoneFactsRequest, _: CallContext) async throws -> GetMilestoneFactsReply {
        guard let found = try await streaks.find(request.streakID, seenBy: request.userID) else {
            return GetMilestoneFactsReply()
        }
        let reached =
            request.milestone == 0 ? found.celebrations.reached.last : found.celebrations.reached(Int(request.milestone))
        let milestone = reached?.count ?? Int(request.milestone)
        return GetMilestoneFactsReply(
            isMember: true,
            isReached: reached != nil,
            milestone: Int32(milestone),
            currentCount: Int32(found.state.count),
            fromDate: reached?.from,
            toDate: reached?.on,
            friendID: found.friend,
            emoji: found.subject.emoji,
            subject: found.subject.name,
            title: found.subject.title(of: milestone),
            style: found.subject.style,
            circleID: found.circle
        )
    }
}
