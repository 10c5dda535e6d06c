internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// The valid invites of a circle, the newest first.
struct ListInvites: QueryHandler {
    let circles: CircleRepository
    let views: CircleViews
    let clock: any Clock

    func handle(_ request: ListInvitesRequest, _ context: CallContext) async throws -> ListInvitesReply {
        let user = try context.requireUser()
        guard let circle = try await circles.find(request.circleID) else { throw ServiceError.notFound("circle") }
        try circle.members.require(.invite, of: user)
        let valid = try await views.invites.valid(of: circle.id, at: clock.now(), circles.database)
        return ListInvitesReply(invites: valid.map { views.invite($0) })
    }
}
