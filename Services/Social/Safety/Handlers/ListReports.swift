internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Reports of one status for moderators, newest first (SO-9).
struct ListReports: QueryHandler {
    let reports: ReportRepository
    let profiles: ProfileReplica

    func handle(_ request: ListReportsRequest, _ context: CallContext) async throws -> ListReportsReply {
        _ = try context.requireModerator()
        let status = Moderation.Status(rawValue: request.status.rawValue) ?? .pending
        // The default and the same status are one list, and an offset is a place in it.
        var list = request
        list.status = ReportStatus(rawValue: status.rawValue)
        list.offset = 0
        let page = try Page<PageCursor>(list, context)
        let found = try await reports.list(
            status,
            before: page.position,
            offset: Int(request.offset),
            limit: page.limit + 1
        )
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.createdAt, $0.id) }
        let owners = try await profiles.profiles(shown.map(\.owner), context: context)
        return ListReportsReply(reports: shown.map { ReportItem($0, owners[$0.owner]) }, meta: meta)
    }
}
