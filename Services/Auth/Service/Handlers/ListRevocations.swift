internal import AuthAPI
internal import Bus
internal import Kernel

extension AuthService {
    /// AU-3. A page holds `RevocationRepository.pageSize` at most.
    func listRevocations(_ request: ListRevocationsRequest, context: CallContext) async throws -> ListRevocationsReply {
        guard let since = request.since else { throw ServiceError.validation(field: "since", "is required") }
        let page = try await revocations.page(since: since, after: SessionID(request.after))
        return ListRevocationsReply(
            revocations: page.map {
                Revocation(sessionID: $0.session.description, userID: $0.account.description, revokedAt: $0.at)
            }
        )
    }
}
