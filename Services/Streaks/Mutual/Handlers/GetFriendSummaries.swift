internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Everything a page of the friend list needs, in one round trip (SO-3).
struct GetFriendSummaries: QueryHandler {
    let views: MutualViews

    func handle(_ request: GetFriendSummariesRequest, _ context: CallContext) async throws -> GetFriendSummariesReply {
        let selection = StreakSelection.unended(with: request.friendIDs)
        let streaks = try await views.streaks(selection, of: request.userID, withPartners: false, context)
        return GetFriendSummariesReply(
            summaries: streaks.map { streak in
                FriendSummary(
                    friendID: streak.partnerID,
                    streakID: streak.row.id,
                    currentCount: streak.row.count,
                    longestCount: streak.row.longest,
                    youPostedToday: streak.youPosted,
                    friendPostedToday: streak.partnerPosted,
                    atRisk: streak.isAtRisk,
                    statusPill: streak.pill.map { StatusPill($0) },
                    deadlineAt: streak.deadline,
                    status: StreakStatus(streak.row.status)
                )
            }
        )
    }
}
