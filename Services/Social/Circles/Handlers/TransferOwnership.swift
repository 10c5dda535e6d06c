internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Gives a circle to another member, who can use it: not to an account that is shut.
struct TransferOwnership: MutationHandler {
    let changes: CircleChanges
    let views: CircleViews
    let mutations: Mutations

    func handle(_ request: TransferOwnershipRequest, _ context: CallContext) async throws -> Once<Circle> {
        let (user, other) = (try context.requireUser(), request.userID)
        return try await mutations.once(context, request) { [changes, views] work in
            let isAvailable = try await changes.isAvailable(other, work.sql)
            let known = try await changes.known(other, to: user, work)
            let circle = try await changes.change(request.circleID, work) { circle in
                let before = circle.members
                // A repeat of what has happened.
                if before.owner == other, before[user] != nil, other != user { return nil }
                try circle.members.transfer(to: known, by: user)
                guard isAvailable else { throw ServiceError.notFound("member") }
                return CircleChanges.Note(.ownershipTransferred, user: other, by: user)
            }
            return try await views.circle(circle, of: user, at: work.now, work.sql)
        }
    }
}
