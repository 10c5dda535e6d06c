internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// The streaks of the user that run (MS-4).
struct ListStreaks: QueryHandler {
    let views: MutualViews

    func handle(_: ListStreaksRequest, _ context: CallContext) async throws -> ListStreaksReply {
        let user = try context.requireUser()
        let streaks = try await views.streaks(.running, of: user, withPartners: true, context)
        return ListStreaksReply(streaks: streaks.map(\.item))
    }
}
