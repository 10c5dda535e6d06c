internal import Bus
internal import CommonAPI
internal import Kernel
internal import MediaAPI
internal import MediaDomain
internal import ServiceRuntime
internal import StreaksAPI

/// Both members' snaps of a streak, newest date first (PH-5). A user who is not a member is answered as if there were no such streak (PF-2).
struct GetSnapHistory: QueryHandler {
    let snaps: SnapRepository
    let views: SnapViews
    let streaks: MutualClient

    func handle(_ request: GetSnapHistoryRequest, _ context: CallContext) async throws -> GetSnapHistoryReply {
        let user = try context.requireUser()
        let page = try Page<CalendarDate>(request, context)
        let streak = request.streakID
        let membership = try await streaks.getMembership(
            GetMembershipRequest(userID: user, streakID: streak),
            context: context
        )
        guard let friend = membership.friendID else { throw ServiceError.notFound("streak") }
        guard let openFrom = membership.openFrom else { throw ServiceError.internal }
        var before = page.position
        if page.skipped > 0 {
            before = try await snaps.date(page.skipped, of: streak, for: user, with: friend)
            guard before != nil else { return GetSnapHistoryReply(meta: PageMeta()) }
        }
        let dates = try await snaps.history(of: streak, for: user, with: friend, before: before, limit: page.limit + 1)
        let (shown, meta) = page.entries(dates, after: \.date)
        let days = try shown.map { shared in
            let isLocked =
                shared.friends != nil
                && MutualReveal.isLocked(shared.date, youPosted: shared.own != nil || shared.isOwnDeleted, openFrom: openFrom)
            return SnapDay(
                date: shared.date,
                yourSnap: try shared.own.map { try views.view($0, for: user) },
                friendSnap: isLocked ? nil : try shared.friends.map { try views.view($0, for: user) },
                locked: isLocked,
                yourSnapDeleted: shared.isOwnDeleted,
                friendSnapDeleted: shared.isFriendsDeleted
            )
        }
        return GetSnapHistoryReply(days: days, meta: meta)
    }
}
