internal import AuthAPI
internal import Bus
internal import Kernel

extension AuthService {
    func getSummaries(_ request: GetSummariesRequest, context _: CallContext) async throws -> GetSummariesReply {
        let ids = try request.userIDs.enumerated().map { index, text in
            try UserID(parsing: text, field: "user_ids[\(index)]")
        }
        let found = try await accounts.find(ids: ids, usernames: request.usernames)
        return GetSummariesReply(profiles: found.map(\.profileState))
    }

    func listProfileSnapshots(_ request: ListProfileSnapshotsRequest, context _: CallContext) async throws
        -> ListProfileSnapshotsReply
    {
        let after = request.after.isEmpty ? nil : try UserID(parsing: request.after, field: "after")
        let page = try await accounts.page(after: after, limit: request.limit == 0 ? 200 : Int(request.limit))
        return ListProfileSnapshotsReply(profiles: page.map(\.profileState))
    }
}
