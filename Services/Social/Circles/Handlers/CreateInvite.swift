internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialCore
internal import SocialDomain

/// Makes a new invite, beside the others or in their place, and sends it to friends.
struct CreateInvite: MutationHandler {
    let circles: CircleRepository
    let friendships: FriendshipRepository
    let views: CircleViews
    let mutations: Mutations

    func handle(_ request: CreateInviteRequest, _ context: CallContext) async throws -> Once<Invite> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { [circles, friendships, views] work in
            guard let circle = try await circles.lock(request.circleID, work.sql) else { throw ServiceError.notFound("circle") }
            try circle.members.require(.invite, of: user)
            if request.replace { _ = try await views.invites.revoke(of: circle.id, only: nil, at: work.now, work.sql) }
            guard try await views.invites.valid(of: circle.id, at: work.now, work.sql).count < CircleInvite.limit else {
                throw ServiceError(
                    .failedPrecondition,
                    "TOO_MANY_INVITES",
                    "A circle has at most \(CircleInvite.limit) valid invites; revoke one first."
                )
            }
            let made = try await views.invites.make(
                for: circle.id,
                by: user,
                maxUses: request.maxUses ?? CircleInvite.standardUses,
                hours: request.validHours ?? CircleInvite.standardHours,
                work
            )
            for friend in Set(request.friendIDs).sorted() where circle.members[friend] == nil {
                guard try await friendships.find(user, friend, work.sql)?.friendship.state == .accepted else {
                    throw ServiceError(.failedPrecondition, "NOT_FRIENDS", "You can invite your friends.")
                }
                try await work.emit(
                    CircleInvitationSent(
                        circleID: circle.id,
                        circleName: circle.name,
                        fromUserID: user,
                        toUserID: friend,
                        code: made.invite.code,
                        expiresAt: made.invite.expiresAt
                    )
                )
            }
            return views.invite(made)
        }
    }
}
