internal import Bus
internal import Kernel
internal import StreaksAPI

extension StreaksService {
    /// PH-4, PH-5: who may look at the photos of a streak, and which of them only after posting. What a block hides is left out by `media`: a
    /// member's own photos stay theirs.
    func getMembership(_ request: GetMembershipRequest, context _: CallContext) async throws -> GetMembershipReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let id = try StreakID(parsing: request.streakID, field: "streak_id")
        let seen = try await streaks.seen(.one(id), by: user, withFriends: false, withHidden: true, now: clock.now())
        guard let streak = seen.first else { return GetMembershipReply() }
        return GetMembershipReply(
            friendID: streak.row.friend(of: user).description,
            openFrom: streak.openFrom.description
        )
    }
}
