internal import AuthAPI
internal import AuthCore
internal import Bus

/// Profiles by id or username, for replicas of other services (D13).
struct GetSummaries: QueryHandler {
    let accounts: AccountRepository

    func handle(_ request: GetSummariesRequest, _: CallContext) async throws -> GetSummariesReply {
        let found = try await accounts.find(ids: request.userIDs, usernames: request.usernames)
        return GetSummariesReply(profiles: found.map(\.profileState))
    }
}
