internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// The five typed streaks of the caller (TS-1).
struct ListTyped: QueryHandler {
    let views: TypedViews

    func handle(_: ListTypedRequest, _ context: CallContext) async throws -> ListTypedReply {
        let user = try context.requireUser()
        let folded = try await views.folded(StreakKind.typed, of: user, isWhole: false, context)
        guard let today = folded.first?.today else { return ListTypedReply() }
        let boosts = try await views.boosts(of: user, on: today)
        return ListTypedReply(streaks: folded.map { TypedStreak($0, boosts) })
    }
}
