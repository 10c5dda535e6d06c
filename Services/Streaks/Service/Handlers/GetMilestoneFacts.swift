internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// MC-1: what a card says of a streak.
    func getMilestoneFacts(_ request: GetMilestoneFactsRequest, context _: CallContext) async throws -> GetMilestoneFactsReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let id = try StreakID(parsing: request.streakID, field: "streak_id")
        guard let (stored, state) = try await look(at: id, by: user) else { return GetMilestoneFactsReply() }
        let celebrations = Celebrations(state)
        let reached = request.milestone == 0 ? celebrations.reached.last : celebrations.reached(Int(request.milestone))
        return GetMilestoneFactsReply(
            isMember: true,
            isReached: reached != nil,
            milestone: Int32(reached?.count ?? Int(request.milestone)),
            currentCount: Int32(state.count),
            fromDate: reached?.from.description,
            toDate: reached?.on.description,
            friendID: stored.row.friend(of: user).description
        )
    }

    /// A streak's whole ledger and what it comes to now; nil for somebody who is not part of it, and while a block hides the other (SO-7).
    func look(at id: StreakID, by user: UserID) async throws -> (stored: StoredStreak, state: StreakState)? {
        guard let stored = try await streaks.whole(id, seenBy: user) else { return nil }
        return (stored, fold(stored.ledger, StreakKeeper.policy, at: max(clock.now(), stored.row.lookedAt)))
    }
}
