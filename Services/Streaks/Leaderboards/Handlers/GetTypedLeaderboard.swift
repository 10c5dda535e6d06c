internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain
internal import Wire

/// The leaderboard of the streaks of one type (TS-1, CI-7).
struct GetTypedLeaderboard: QueryHandler {
    let replies: BoardReplies

    func handle(_ request: GetTypedLeaderboardRequest, _ context: CallContext) async throws -> Encoded<Leaderboard> {
        let kind = try Self.kind(request)
        let scope = try BoardReplies.Scope(request.scope, circle: request.circleID)
        return try await replies.reply(kind, scope, limit: request.limit, context)
    }

    func problems(of request: GetTypedLeaderboardRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { check in
            _ = try check.take { try Self.kind(request) }
            _ = try check.take { try BoardReplies.Scope(request.scope, circle: request.circleID) }
        }
    }

    private static func kind(_ request: GetTypedLeaderboardRequest) throws(ServiceError) -> StreakKind {
        guard let kind = StreakKind.typed.first(where: { $0.typeName == request.type }) else {
            throw .validation(field: "type", "is no type of streak")
        }
        return kind
    }
}
