internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Acts on a report, once (SO-9). `auth`, `notifications` and the services that own content do their part when they consume the event.
struct ActionReport: MutationHandler {
    let reports: ReportRepository
    let profiles: ProfileReplica
    let mutations: Mutations

    func handle(_ request: ActionReportRequest, _ context: CallContext) async throws -> Once<ReportItem> {
        let moderator = try context.requireModerator()
        guard let action = Moderation.Action(rawValue: request.action.rawValue) else {
            throw ServiceError.validation(field: "action", "must be dismiss, warn, suspend or ban")
        }
        return try await mutations.once(
            context,
            request,
            completedBy: { try await named($0, context) },
            { work in ReportItem(try await act(action, on: request, by: moderator, work), nil) }
        )
    }

    private func act(_ action: Moderation.Action, on request: ActionReportRequest, by moderator: UserID, _ work: UnitOfWork)
        async throws -> StoredReport
    {
        let id = request.reportID
        guard var report = try await reports.lock(id, work.sql) else { throw ServiceError.notFound("report") }
        let decision = try Moderation.decide(action, on: report.status, of: report.owner, by: moderator, now: work.now)
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
        try await work.emit(
            ModerationActionTaken(
                actionID: record.id,
                userID: report.owner,
                action: request.action,
                takenAt: work.now,
                until: decision.until,
                moderatorID: moderator,
                reportID: id
            )
        )
        (report.status, report.action) = (decision.status, record)
        return report
    }

    /// The profile is read after the transaction, which holds a connection already.
    private func named(_ report: ReportItem, _ context: CallContext) async throws -> ReportItem {
        guard let owner = report.owner?.userID, let profile = try await profiles.profile(owner, context: context) else {
            return report
        }
        var named = report
        named.owner = profile.summary
        return named
    }
}
