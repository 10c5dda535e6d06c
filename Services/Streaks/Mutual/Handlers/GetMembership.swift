internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Who may see the photos of a streak, and which of them only after posting (PH-4, PH-5). What a block hides is left out by `media`: a
/// member's own photos stay theirs.
struct GetMembership: QueryHandler {
    let reads: StreakReads
    let closed: ClosedDates
    let clock: any Clock

    func handle(_ request: GetMembershipRequest, _: CallContext) async throws -> GetMembershipReply {
        let seen = try await reads.seen(
            .one(request.streakID),
            by: request.userID,
            withPartners: false,
            withHidden: true,
            now: clock.now()
        )
        guard let streak = seen.first else { return GetMembershipReply() }
        let closed = try await closed.first(of: streak.row)
        return GetMembershipReply(friendID: streak.partnerID, openFrom: min(streak.openFrom, closed ?? streak.openFrom))
    }
}
