internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Everything a page of the friend list needs, in one round trip (SO-3).
struct GetFriendSummaries: QueryHandler {
    let views: MutualViews

    func handle(_ request: GetFriendSummariesRequest, _ context: CallContext) async throws -> GetFriendSummariesReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let friends = try request.friendIDs.enumerated().map { index, text in
            try UserID(parsing: text, field: "friend_ids[\(index)]")
        }
        let streaks = try await views.streaks(.unended(with: friends), of: user, withPartners: false, context)
        return GetFriendSummariesReply(
            summaries: streaks.map { streak in
                FriendSummary(
                    friendID: streak.partnerID.description,
                    streakID: streak.row.id.description,
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
