internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What a milestone card says of a streak (MC-1).
struct GetMilestoneFacts: QueryHandler {
    let views: MutualViews

    func handle(_ request: GetMilestoneFactsRequest, _: CallContext) async throws -> GetMilestoneFactsReply {
        let user = request.userID
        guard let (stored, state) = try await views.whole(request.streakID, seenBy: user) else { return GetMilestoneFactsReply() }
        let celebrations = Celebrations(state)
        let reached = request.milestone == 0 ? celebrations.reached.last : celebrations.reached(Int(request.milestone))
        return GetMilestoneFactsReply(
            isMember: true,
            isReached: reached != nil,
            milestone: Int32(reached?.count ?? Int(request.milestone)),
            currentCount: Int32(state.count),
            fromDate: reached?.from,
            toDate: reached?.on,
            friendID: stored.row.partner(of: user)
        )
    }
}
