internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Leaves a circle; ownership passes on, and a circle without members is deleted.
struct LeaveCircle: MutationHandler {
    let changes: CircleChanges
    let mutations: Mutations

    func handle(_ request: LeaveCircleRequest, _ context: CallContext) async throws -> Once<LeaveCircleReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { [changes] work in
            let circle = try await changes.leave(request.circleID, user, by: user, work)
            return LeaveCircleReply(circleID: request.circleID, deleted: circle.isDeleted)
        }
    }
}
