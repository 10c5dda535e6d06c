internal import Bus
internal import CommonAPI
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

extension SocialService {
    /// SO-9: for moderators, newest first.
    func listReports(_ request: ListReportsRequest, context: CallContext) async throws -> ListReportsReply {
        let moderator = try Self.requireModerator(context)
        let limit = PageSize.of(request.limit, standard: 50, most: 100)
        let status = Moderation.Status(rawValue: request.status.rawValue) ?? .pending
        let scope = CursorScope("social.ListReports", of: moderator, filters: ["\(status)"])
        let page = try await reports.list(
            status,
            before: try scope.position(in: request.cursor),
            offset: Int(request.offset),
            limit: limit + 1
        )
        let shown = page.prefix(limit)
        let owners = try await profiles.profiles(shown.map(\.owner), context: context)
        let next = page.count > limit ? shown.last.map { scope.text(after: PageCursor(after: $0.createdAt, $0.id)) } : nil
        return ListReportsReply(
            reports: shown.map { Self.view($0, owners[$0.owner]) },
            meta: PageMeta(nextCursor: next)
        )
    }

    /// The signed-in moderator. The gateway has looked already; a caller on the bus has not.
    ///
    /// - Throws: `ADMIN_ONLY`.
    static func requireModerator(_ context: CallContext) throws(ServiceError) -> UserID {
        let user = try context.requireUser()
        guard context.principal?.role == .admin else {
            throw ServiceError(.permissionDenied, "ADMIN_ONLY", "Only administrators may do this.")
        }
        return user
    }

    /// A report as moderators see it.
    static func view(_ report: StoredReport, _ owner: Profile?) -> ReportItem {
        ReportItem(
            reportID: report.id.description,
            subjectType: report.subjectType,
            subjectID: report.subject.description,
            reason: report.reason,
            description: report.description,
            status: ReportStatus(rawValue: report.status.rawValue),
            createdAt: report.createdAt,
            reporterID: report.reporter.description,
            owner: owner?.summary ?? .unavailable(report.owner),
            reporters: report.reporters,
            action: report.action.map { action in
                ModerationRecord(
                    actionID: action.id.description,
                    action: ModerationAction(rawValue: action.action.rawValue),
                    moderatorID: action.moderator.description,
                    takenAt: action.takenAt,
                    until: action.until,
                    note: action.note
                )
            }
        )
    }
}
