internal import AuthAPI
internal import AuthCore
internal import Bus

/// All profiles in pages, in the order of ids: what a replica starts from (D13).
struct ListProfileSnapshots: QueryHandler {
    let accounts: AccountRepository

    func handle(_ request: ListProfileSnapshotsRequest, _: CallContext) async throws -> ListProfileSnapshotsReply {
        let page = try await accounts.page(after: request.after, limit: request.limit == 0 ? 200 : Int(request.limit))
        return ListProfileSnapshotsReply(profiles: page.map(\.profileState))
    }
}
