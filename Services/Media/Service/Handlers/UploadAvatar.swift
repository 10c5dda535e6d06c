internal import BlobStore
internal import Bus
internal import Kernel
internal import MediaAPI

extension MediaService {
    /// AU-10. The bytes are decoded before anything is recorded: of a file that is refused nothing is kept.
    func uploadAvatar(_ request: UploadAvatarRequest, context: CallContext) async throws -> UploadAvatarReply {
        let user = try context.requireUser()
        guard let upload = request.avatar, upload.key.hasPrefix("incoming/") else {
            throw ServiceError.validation(field: "avatar", "is required")
        }
        let incoming = try BlobKey(upload.key)
        do {
            try await requireTerms(user, context)
            let reply = try await avatars.replace(
                by: try await blobs.read(incoming, limit: 10 << 20),
                of: user,
                request,
                context
            )
            await forget(incoming)
            return reply
        } catch {
            await forget(incoming)
            throw error
        }
    }

    /// AU-10.
    func removeAvatar(_ request: RemoveAvatarRequest, context: CallContext) async throws -> RemoveAvatarReply {
        try await avatars.remove(of: try context.requireUser(), request, context)
    }
}
