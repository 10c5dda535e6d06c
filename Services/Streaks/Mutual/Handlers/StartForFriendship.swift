internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import Replicas

/// Starts the streak of a new friendship (SO-2, MS-1). Asked by `social` right after an acceptance and again by its event: the friendship's
/// answer stays the same.
struct StartForFriendship: MutationHandler {
    let starts: MutualStarts
    let profiles: ProfileReplica
    let mutations: Mutations

    func handle(_ request: StartForFriendshipRequest, _ context: CallContext) async throws -> Once<StartForFriendshipReply> {
        let (one, two) = (request.userAID, request.userBID)
        // Their zones must be known before the first deadline is worked out.
        _ = try await profiles.profiles([one, two], context: context)
        return try await mutations.once(context, request) { [starts] work in
            try await starts.start(for: request.friendshipID, one, two, work)
        }
    }
}
