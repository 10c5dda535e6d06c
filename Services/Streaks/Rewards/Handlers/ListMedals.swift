internal import Bus
internal import Database
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// Medals that users have asked for, oldest first, for those who mail them (CI-5). Who is shown is noted for the audit log.
struct ListMedals: QueryHandler {
    let database: Database
    let profiles: ProfileReplica
    let work: UnitOfWorkFactory

    func handle(_ request: ListMedalsRequest, _ context: CallContext) async throws -> ListMedalsReply {
        let admin = try context.requireAdmin()
        // The default and the same status are one list.
        var list = request
        if list.status == .unspecified { list.status = .requested }
        let page = try Page<PageCursor>(list, context)
        let found = try await MedalRepository.list(list.status, after: page.position, limit: page.limit + 1, database)
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.requestedAt, $0.id) }
        let people = try await profiles.profiles(shown.map(\.user), context: context)
        try await work.run(context) { work in
            try await AdminReport.emit(.readMedal, of: Array(Set(shown.map(\.user))), by: admin, "", context, work)
        }
        return ListMedalsReply(medals: shown.map { AdminMedal($0, people[$0.user]) }, meta: meta)
    }
}
