internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Revokes one invite of a circle, or all of them.
struct RevokeInvites: MutationHandler {
    let circles: CircleRepository
    let invites: InviteRepository
    let mutations: Mutations

    func handle(_ request: RevokeInvitesRequest, _ context: CallContext) async throws -> Once<RevokeInvitesReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { [circles, invites] work in
            guard let circle = try await circles.lock(request.circleID, work.sql) else { throw ServiceError.notFound("circle") }
            try circle.members.require(.invite, of: user)
            if let id = request.inviteID, try await !invites.exists(id, of: circle.id, work.sql) {
                throw ServiceError.notFound("invite")
            }
            let revoked = try await invites.revoke(of: circle.id, only: request.inviteID, at: work.now, work.sql)
            return RevokeInvitesReply(circleID: circle.id, revoked: Int32(revoked))
        }
    }
}
