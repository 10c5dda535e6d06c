internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// What an invite leads to, before joining.
struct PreviewInvite: QueryHandler {
    let circles: CircleRepository
    let views: CircleViews
    let clock: any Clock

    func handle(_ request: PreviewInviteRequest, _ context: CallContext) async throws -> InvitePreview {
        let user = try context.requireUser()
        guard let (circle, stored) = try await views.invites.valid(request.code, circles, at: clock.now()) else {
            throw CircleInvite.notValid
        }
        let isMember = circle.members[user] != nil
        if !isMember, try await views.invites.isClosed(stored, to: user, circles.database) { throw CircleInvite.notValid }
        return InvitePreview(
            circleID: circle.id,
            name: circle.name,
            description: circle.description,
            memberCount: Int32(circle.members.all.count),
            memberLimit: Int32(CircleMembers.limit),
            joined: isMember,
            expiresAt: stored.invite.expiresAt
        )
    }
}
