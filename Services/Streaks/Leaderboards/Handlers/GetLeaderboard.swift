internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain
internal import Wire

/// The leaderboard of check-in streaks (CI-7).
struct GetLeaderboard: QueryHandler {
    let replies: BoardReplies

    func handle(_ request: GetLeaderboardRequest, _ context: CallContext) async throws -> Encoded<GetLeaderboardReply> {
        let scope = try BoardReplies.Scope(request.scope, circle: request.circleID)
        let board = try await replies.reply(.checkIn, scope, limit: request.limit, context)
        // Around it: the field `data`.
        var writer = WireWriter()
        writer.bytes(board.bytes, field: 1)
        return Encoded(bytes: writer.bytes)
    }

    func problems(of request: GetLeaderboardRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try BoardReplies.Scope(request.scope, circle: request.circleID) }
    }
}
