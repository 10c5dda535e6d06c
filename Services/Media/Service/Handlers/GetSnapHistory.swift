internal import Bus
internal import CommonAPI
internal import Kernel
internal import MediaAPI
internal import MediaDomain
internal import ServiceRuntime
internal import StreaksAPI

extension MediaService {
    /// PH-5. Somebody who is not part of the streak is answered as if there were none (PF-2).
    func getSnapHistory(_ request: GetSnapHistoryRequest, context: CallContext) async throws -> GetSnapHistoryReply {
        let user = try context.requireUser()
        let streak = try StreakID(parsing: request.streakID, field: "streak_id")
        let limit = PageSize.of(request.limit, standard: 30, most: 100)
        let scope = CursorScope("media.GetSnapHistory", of: user, filters: [streak.description])
        var before: CalendarDate? = try scope.position(in: request.cursor)
        let skipped = try PageSize.skipped(page: request.page, cursor: request.cursor, size: limit)
        let membership = try await streaks.getMembership(
            GetMembershipRequest(userID: user.description, streakID: streak.description),
            context: context
        )
        guard let friend = membership.friendID.flatMap({ UserID($0) }) else { throw ServiceError.notFound("streak") }
        guard let openFrom = membership.openFrom.flatMap({ CalendarDate($0) }) else { throw ServiceError.internal }
        if skipped > 0 {
            before = try await snaps.date(skipped, of: streak, for: user, with: friend)
            guard before != nil else { return GetSnapHistoryReply(meta: PageMeta()) }
        }
        let now = clock.now()
        let dates = try await snaps.history(of: streak, for: user, with: friend, before: before, limit: limit + 1)
        let days = try dates.prefix(limit).map { shared in
            let isLocked =
                shared.friends != nil
                && MutualReveal.isLocked(shared.date, youPosted: shared.own != nil, openFrom: openFrom)
            return SnapDay(
                date: shared.date.description,
                yourSnap: try shared.own.map { try view($0, for: user, now) },
                friendSnap: isLocked ? nil : try shared.friends.map { try view($0, for: user, now) },
                locked: isLocked
            )
        }
        let next = dates.count > limit ? dates.prefix(limit).last.map { scope.text(after: $0.date) } : nil
        return GetSnapHistoryReply(days: days, meta: PageMeta(nextCursor: next))
    }
}
