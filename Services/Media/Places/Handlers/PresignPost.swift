internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaCore

/// Announces a file that the caller will send by a presigned link (PL-1, AU-9).
struct PresignPost: MutationHandler {
    let uploads: PresignedUploads
    let terms: Terms

    func handle(_ request: PresignPostRequest, _ context: CallContext) async throws -> Once<PresignPostReply> {
        let user = try context.requireUser()
        try await terms.requireAccepted(by: user, context)
        return try await uploads.announce(request, by: user, context)
    }

    func problems(of request: PresignPostRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try PresignedUploads.file(request) }
    }
}
