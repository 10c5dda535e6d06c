internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// PH-4, PH-5: who may look at the photos of a streak, and which of them only after posting.
    func getMembership(_ request: GetMembershipRequest, context _: CallContext) async throws -> GetMembershipReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let id = try StreakID(parsing: request.streakID, field: "streak_id")
        let now = clock.now()
        let row = try await streaks.seen(.one(id), by: user, withFriends: false, now: now).first?.row
        guard let row else { return GetMembershipReply() }
        let history = try await ZoneRepository.histories(of: [user], streaks.database)[user] ?? ZoneHistory(.utc)
        // A broken streak can come back, with its dates.
        let isOpen = row.status != .ended
        return GetMembershipReply(
            friendID: row.friend(of: user).description,
            openFrom: isOpen ? history.earliestClaimable(at: now, StreakKeeper.policy).description : nil
        )
    }
}
