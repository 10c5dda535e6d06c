internal import Kernel
internal import Outbox
internal import SocialDomain

extension InviteRepository {
    /// Makes an invite for a circle that is locked, or new.
    func make(
        for circle: CircleID,
        by user: UserID,
        maxUses: Int32 = CircleInvite.standardUses,
        hours: Int32 = CircleInvite.standardHours,
        _ work: UnitOfWork
    ) async throws -> StoredInvite {
        let id: CircleInviteID = work.ids.make()
        // The lower half of a new id holds 62 bits of the system's random generator.
        let random: CircleInviteID = work.ids.make()
        let invite = CircleInvite(
            code: InviteCode.make(from: random.low),
            maxUses: maxUses,
            uses: 0,
            expiresAt: work.now + .hours(Int64(hours)),
            isRevoked: false
        )
        let stored = StoredInvite(id: id, circle: circle, createdAt: work.now, invite: invite)
        try await insert(stored, by: user, work.sql)
        return stored
    }

    /// The circle that a code leads to now; nil when it leads nowhere.
    func valid(_ text: String, _ circles: CircleRepository, at now: Instant) async throws
        -> (circle: StoredCircle, stored: StoredInvite)?
    {
        guard let code = InviteCode.normalized(text), let stored = try await find(code: code, database),
            stored.invite.isValid(at: now), let circle = try await circles.find(stored.circle)
        else { return nil }
        return (circle, stored)
    }
}
