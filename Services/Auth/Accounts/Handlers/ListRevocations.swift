internal import AuthAPI
internal import Bus
internal import Kernel

/// The sessions that were ended lately, for gateways (AU-3). A page holds `RevocationRepository.pageSize` at most.
struct ListRevocations: QueryHandler {
    let revocations: RevocationRepository

    func handle(_ request: ListRevocationsRequest, _: CallContext) async throws -> ListRevocationsReply {
        guard let since = request.since else { throw ServiceError.validation(field: "since", "is required") }
        let page = try await revocations.page(since: since, after: request.after)
        return ListRevocationsReply(
            revocations: page.map { Revocation(sessionID: $0.session, userID: $0.account, revokedAt: $0.at) }
        )
    }
}
