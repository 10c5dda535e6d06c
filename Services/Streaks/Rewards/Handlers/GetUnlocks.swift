internal import Bus
internal import Kernel
internal import StreaksAPI

/// What check-in counts open, and what of it the user has (CI-5).
struct GetUnlocks: QueryHandler {
    let views: RewardViews

    func handle(_: GetUnlocksRequest, _ context: CallContext) async throws -> GetUnlocksReply {
        try await views.unlocks(of: try context.requireUser())
    }
}
