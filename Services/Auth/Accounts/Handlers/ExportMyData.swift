internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel

/// AU-10: everything that the services hold about the caller.
struct ExportMyData: QueryHandler {
    let accounts: AccountRepository
    let desk: ExportDesk

    func handle(_: ExportMyDataRequest, _ context: CallContext) async throws -> ExportMyDataReply {
        let user = try context.requireUser()
        guard try await accounts.find(user) != nil else { throw ServiceError.sessionRevoked }
        switch try await desk.answer(for: user, context) {
        case .document(let json): return ExportMyDataReply(json: json)
        case .file(let url): return ExportMyDataReply(url: url)
        case .preparing(let since, _):
            return ExportMyDataReply(json: "{\"status\":\"preparing\",\"requested_at\":\"\(since)\"}", status: 202)
        }
    }
}
