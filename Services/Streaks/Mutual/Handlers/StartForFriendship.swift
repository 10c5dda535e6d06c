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
        let friendship = try FriendshipID(parsing: request.friendshipID, field: "friendship_id")
        let one = try UserID(parsing: request.userAID, field: "user_a_id")
        let two = try UserID(parsing: request.userBID, field: "user_b_id")
        // Their zones must be known before the first deadline is worked out.
        _ = try await profiles.profiles([one, two], context: context)
        return try await mutations.once(context, request) { [starts] work in
            try await starts.start(for: friendship, one, two, work)
        }
    }
}
