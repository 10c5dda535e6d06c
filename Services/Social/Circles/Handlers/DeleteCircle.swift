internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Deletes a circle; `streaks` ends its streak.
struct DeleteCircle: MutationHandler {
    let changes: CircleChanges
    let mutations: Mutations

    func handle(_ request: DeleteCircleRequest, _ context: CallContext) async throws -> Once<DeleteCircleReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { [changes] work in
            _ = try await changes.change(request.circleID, work) { circle in
                try circle.members.require(.delete, of: user)
                circle.delete()
                return CircleChanges.Note(.deleted, by: user)
            }
            return DeleteCircleReply(circleID: request.circleID)
        }
    }
}
