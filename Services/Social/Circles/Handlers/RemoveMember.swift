internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Removes a member. The codes that they may know let them in no more: they come back by an invite that is made later.
struct RemoveMember: MutationHandler {
    let changes: CircleChanges
    let invites: InviteRepository
    let mutations: Mutations

    func handle(_ request: RemoveMemberRequest, _ context: CallContext) async throws -> Once<MemberReply> {
        let (user, other) = (try context.requireUser(), request.userID)
        return try await mutations.once(context, request) { [changes, invites] work in
            let known = try await changes.known(other, to: user, work)
            _ = try await changes.change(request.circleID, work) { circle in
                try circle.members.remove(known, by: user)
                return CircleChanges.Note(.memberRemoved, user: other, by: user)
            }
            try await invites.close(request.circleID, to: other, at: work.now, work.sql)
            return MemberReply(circleID: request.circleID, userID: other)
        }
    }
}
