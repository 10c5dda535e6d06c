internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaCore
internal import ServiceRuntime

/// Stores the caller's picture in place of the one before (AU-10). The bytes are decoded before anything is recorded: of a refused file
/// nothing is kept.
struct UploadAvatar: MutationHandler {
    let avatars: Avatars
    let terms: Terms
    let uploads: IncomingUploads

    func handle(_ request: UploadAvatarRequest, _ context: CallContext) async throws -> Once<UploadAvatarReply> {
        let user = try context.requireUser()
        return try await avatars.mutations.alone(
            context,
            request.withoutKeys(of: \.avatar),
            answered: { await uploads.discard(request.avatar) },
            {
                try await uploads.use(request.avatar, "avatar") { _, key in
                    try await terms.requireAccepted(by: user, context)
                    return try await avatars.replace(by: try await uploads.bytes(of: key), of: user, request, context)
                }
            }
        )
    }
}
