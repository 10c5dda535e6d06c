internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// All streaks of a person for an administrator, who is noted for the audit log.
struct ListUserStreaks: QueryHandler {
    let store: StreakStore
    let profiles: ProfileReplica
    let work: UnitOfWorkFactory

    func handle(_ request: ListUserStreaksRequest, _ context: CallContext) async throws -> ListUserStreaksReply {
        let admin = try context.requireAdmin()
        let page = try Page<PageCursor>(request, context)
        let rows = try await InspectorReads.streaks(
            of: request.userID,
            after: page.position.map { ($0.instant, $0.id()) },
            limit: page.limit + 1,
            store.database
        )
        let (shown, meta) = page.entries(rows) { PageCursor(after: $0.startedAt, $0.id) }
        let people = try await profiles.profiles(shown.flatMap(\.members), context: context)
        try await work.run(context) { work in
            try await AdminReport.emit(.listStreaks, of: [request.userID], by: admin, "", context, work)
        }
        return ListUserStreaksReply(streaks: shown.map { InspectedStreak($0, people) }, meta: meta)
    }
}
