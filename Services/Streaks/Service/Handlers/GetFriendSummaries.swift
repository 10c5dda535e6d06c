internal import Bus
internal import Kernel
internal import StreaksAPI

extension StreaksService {
    /// SO-3: everything a page of the friend list needs, in one round trip.
    func getFriendSummaries(_ request: GetFriendSummariesRequest, context: CallContext) async throws -> GetFriendSummariesReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let friends = try request.friendIDs.enumerated().map { index, text in
            try UserID(parsing: text, field: "friend_ids[\(index)]")
        }
        let views = try await views(.unended(with: friends), of: user, withFriends: false, context)
        return GetFriendSummariesReply(
            summaries: views.map { view in
                FriendSummary(
                    friendID: view.friendID.description,
                    streakID: view.row.id.description,
                    currentCount: view.row.count,
                    longestCount: view.row.longest,
                    youPostedToday: view.youPosted,
                    friendPostedToday: view.friendPosted,
                    atRisk: view.isAtRisk,
                    statusPill: view.pill,
                    deadlineAt: view.row.status == .active ? view.row.deadlineAt : nil,
                    status: view.row.status
                )
            }
        )
    }
}
