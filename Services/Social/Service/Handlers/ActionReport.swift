internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import SocialAPI
internal import SocialDomain

extension SocialService {
    /// SO-9. A report is acted on once; `auth`, `notifications` and the owners of content do their part when they hear the event.
    func actionReport(_ request: ActionReportRequest, context: CallContext) async throws -> ReportItem {
        let moderator = try Self.requireModerator(context)
        let id = try ReportID(parsing: request.reportID, field: "report_id")
        guard let action = Moderation.Action(rawValue: request.action.rawValue) else {
            throw ServiceError.validation(field: "action", "must be dismiss, warn, suspend or ban")
        }
        let acted = try await mutations.run(context, request) { [self] work in
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
                    actionID: record.id.description,
                    userID: report.owner.description,
                    action: request.action,
                    takenAt: work.now,
                    until: decision.until,
                    moderatorID: moderator.description,
                    reportID: id.description
                )
            )
            (report.status, report.action) = (decision.status, record)
            return Self.view(report, nil)
        }
        // Names are looked up outside the transaction, which holds a connection already.
        guard let owner = UserID(acted.owner?.userID ?? ""),
            let profile = try await profiles.profile(owner, context: context)
        else { return acted }
        var named = acted
        named.owner = profile.summary
        return named
    }
}
