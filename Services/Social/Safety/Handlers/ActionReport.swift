internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Acts on a report, once (SO-9). `auth`, `notifications` and the services that own content do their part when they consume the event; the
/// reply comes when those whose part is to protect have done it.
struct ActionReport: MutationHandler {
    let reports: ReportRepository
    let profiles: ProfileReplica
    let posts: PostReports
    let mutations: Mutations

    func handle(_ request: ActionReportRequest, _ context: CallContext) async throws -> Once<ReportItem> {
        let moderator = try context.requireAdmin()
        guard let action = Moderation.Action(rawValue: request.action.rawValue) else {
            throw ServiceError.internal
        }
        // As the moderator saw it: a profile that may no longer be seen has no name.
        let profile = try await profile(request.reportID, context)
        return try await mutations.once(context, request, protecting: request.reportID) { work in
            var item = ReportItem(try await act(action, on: request, by: moderator, work), nil)
            if let profile { item.owner = profile.summary }
            return item
        }
    }

    private func act(_ action: Moderation.Action, on request: ActionReportRequest, by moderator: UserID, _ work: UnitOfWork)
        async throws -> StoredReport
    {
        let id = request.reportID
        // As a report does: the subject comes before its reports.
        guard let subject = try await reports.subject(of: id, work.sql) else { throw ServiceError.notFound("report") }
        try await reports.lockSubject(subject, work.sql)
        guard var report = try await reports.lock(id, work.sql) else { throw ServiceError.notFound("report") }
        let isPost = report.subjectType == .post
        let decision = try Moderation.decide(
            action,
            on: report.status,
            of: report.owner,
            isPost: isPost,
            by: moderator,
            now: work.now
        )
        try await reports.lockOwner(report.owner, work.sql)
        let record = StoredAction(
            id: work.ids.make(),
            action: action,
            moderator: moderator,
            takenAt: work.now,
            until: decision.until,
            note: request.note
        )
        try await reports.store(record, status: decision.status, on: id, work.sql)
        let effect =
            isPost ? try await posts.decided(record, status: decision.status, on: report, work) : PostReports.Effect()
        try await work.emit(
            ModerationActionTaken(
                actionID: record.id,
                userID: report.owner,
                action: request.action,
                takenAt: work.now,
                until: decision.until,
                moderatorID: moderator,
                reportID: id,
                reporterID: report.reporter,
                subjectType: report.subjectType,
                subjectID: report.subject,
                otherReporterIDs: effect.otherReporters,
                restored: effect.isRestored
            )
        )
        (report.status, report.action) = (decision.status, record)
        return report
    }

    /// Of the owner of what was reported. Read outside of the transaction, which holds a connection already.
    private func profile(_ id: ReportID, _ context: CallContext) async throws -> Profile? {
        guard let owner = try await reports.owner(of: id) else { return nil }
        return try await profiles.profile(owner, context: context)
    }
}
