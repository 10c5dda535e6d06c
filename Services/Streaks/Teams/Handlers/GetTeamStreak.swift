internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The streak of a circle that the caller is in.
struct GetTeamStreak: QueryHandler {
    let circles: CircleReplica
    let views: TeamViews

    func handle(_ request: GetTeamStreakRequest, _ context: CallContext) async throws -> TeamStreak {
        let user = try context.requireUser()
        let circle = try await circles.circle(request.circleID, of: user, context)
        return try await views.streak(circle, seenBy: user, context)
    }
}
