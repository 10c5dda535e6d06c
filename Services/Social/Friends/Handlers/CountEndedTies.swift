internal import Bus
internal import Database
internal import SocialAPI
internal import SocialCore

/// How many friendships and circles of a user ended with the deletion of the account (AU-7).
struct CountEndedTies: QueryHandler {
    let database: Database

    func handle(_ request: CountEndedTiesRequest, _: CallContext) async throws -> CountEndedTiesReply {
        guard let deletedAt = request.deletedAt else { return CountEndedTiesReply() }
        let amounts = try await EndedTies.amounts(of: request.userID, deletedAt: deletedAt, database)
        return CountEndedTiesReply(friendships: amounts[.friendships], circles: amounts[.circles])
    }
}
