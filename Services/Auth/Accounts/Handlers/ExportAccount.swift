internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel

/// What a user gets from `ExportMyData`, for an administrator: for requests that come by letter. Noted is who asked for it and who was given
/// it, not each look whether the file is there.
struct ExportAccount: QueryHandler {
    let lifecycle: LifecycleRepository
    let desk: ExportDesk
    let log: AdminLog

    func handle(_ request: ExportAccountRequest, _ context: CallContext) async throws -> ExportAccountReply {
        let admin = try context.requireAdmin()
        let user = request.userID
        guard try await lifecycle.find(user) != nil else { throw ServiceError.notFound("account") }
        let answer = try await desk.answer(for: user, context)
        if let detail = Self.detail(answer) {
            try await log.note(.exportAccount, of: [user], by: admin, detail: detail, context)
        }
        switch answer {
        case .document(let json): return ExportAccountReply(document: json)
        case .file(let url): return ExportAccountReply(url: url)
        case .preparing(let since, _): return ExportAccountReply(preparingSince: since)
        }
    }

    private static func detail(_ answer: ExportDesk.Answer) -> String? {
        switch answer {
        case .document: "was given the document"
        case .file: "was given the file"
        case .preparing(_, let isNew): isNew ? "asked for the file" : nil
        }
    }
}
