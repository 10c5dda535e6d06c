internal import Bus
internal import Database
internal import StreaksAPI
internal import StreaksCore

/// How many running streaks with friends ended with the deletion of a user's account (AU-7).
struct CountEndedStreaks: QueryHandler {
    let database: Database

    func handle(_ request: CountEndedStreaksRequest, _: CallContext) async throws -> CountEndedStreaksReply {
        CountEndedStreaksReply(mutualStreaks: try await EndedAccountRepository.mutualCount(of: request.userID, database))
    }
}
