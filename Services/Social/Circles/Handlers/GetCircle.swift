internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// One circle of the caller's.
struct GetCircle: QueryHandler {
    let circles: CircleRepository
    let views: CircleViews
    let clock: any Clock

    func handle(_ request: GetCircleRequest, _ context: CallContext) async throws -> Circle {
        let user = try context.requireUser()
        guard let circle = try await circles.find(request.circleID) else { throw ServiceError.notFound("circle") }
        return try await views.circle(circle, of: user, at: clock.now(), circles.database)
    }
}
