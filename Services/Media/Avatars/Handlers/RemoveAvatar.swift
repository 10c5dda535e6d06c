internal import Bus
internal import Kernel
internal import MediaAPI

/// Removes the caller's picture (AU-10).
struct RemoveAvatar: MutationHandler {
    let avatars: Avatars

    func handle(_ request: RemoveAvatarRequest, _ context: CallContext) async throws -> Once<RemoveAvatarReply> {
        try await avatars.remove(of: try context.requireUser(), request, context)
    }
}
