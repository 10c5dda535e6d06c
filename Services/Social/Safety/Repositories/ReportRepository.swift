internal import Database
internal import Kernel
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// A report as it is stored.
struct StoredReport: Sendable {
    var id: ReportID
    /// Nil for an entry of a machine.
    var reporter: UserID?
    var subjectType: ReportSubject
    var subject: SubjectID
    var owner: UserID
    var reason: ReportReason
    var description: String?
    var reporters: Int32
    var status: Moderation.Status
    var createdAt: Instant
    var action: StoredAction?
    var source = ReportSource.user
    /// What it counts for hiding a post (`ReportWeight`).
    var weight: Int32 = 1
    /// What a machine saw.
    var labels: [ReportLabel] = []
}

/// What was done about a report.
struct StoredAction: Sendable {
    var id: ModerationActionID
    var action: Moderation.Action
    /// Nil for a machine.
    var moderator: UserID?
    var takenAt: Instant
    var until: Instant?
    var note: String?
}

/// Reports and what was done about them (SO-8, SO-9).
struct ReportRepository: Sendable {
    let database: Database

    private static let columns: Query = """
        id, reporter, subject_type, subject_id, owner, reason, description, reporters, status, created_at, action_id, action, moderator,
        taken_at, until, note, source, labels, confidences
        """

    /// One report of a subject at a time, so that each counts those before it.
    func lockSubject(_ subject: SubjectID, _ sql: Transaction) async throws {
        try await sql.lock(named: "report \(subject)")
    }

    /// The users who have reported a subject; a post: since moderators last decided about it, which answers all reports that are pending.
    ///
    /// - Returns: how many, and what their reports count together.
    func reporters(of type: ReportSubject, _ subject: SubjectID, _ sql: Transaction) async throws -> (count: Int32, weight: Int32)
    {
        let rows = try await sql.query(
            """
            SELECT count(*)::int, coalesce(sum(weight), 0)::int FROM report WHERE subject_type = \(type.rawValue) AND subject_id = \(subject) AND source = 1
                AND (status = 1 OR subject_type <> \(ReportSubject.post.rawValue))
            """
        )
        guard let row = rows.first else { return (0, 0) }
        let (count, weight) = try row.decode(as: (Int32.self, Int32.self))
        return (count, weight)
    }

    /// Stores a report. - Returns: false when this user has reported this subject before, or such an entry of a machine is pending.
    func insert(_ report: StoredReport, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            INSERT INTO report (id, reporter, subject_type, subject_id, owner, reason, description, reporters, status, created_at,
                action_id, action, moderator, taken_at, source, labels, confidences, weight)
            VALUES (\(report.id), \(report.reporter), \(report.subjectType.rawValue), \(report.subject), \(report.owner),
                \(report.reason.rawValue), \(report.description), \(report.reporters), \(report.status.rawValue), \(report.createdAt),
                \(report.action?.id), \(report.action?.action.rawValue), \(report.action?.moderator), \(report.action?.takenAt),
                \(report.source.rawValue), \(report.labels.map(\.name)), \(report.labels.map(\.confidence)), \(Int16(clamping: report.weight)))
            ON CONFLICT DO NOTHING
            """
        ) == 1
    }

    /// What a report is about; nil when there is no such report.
    func subject(of id: ReportID, _ sql: Transaction) async throws -> SubjectID? {
        try await sql.query("SELECT subject_id FROM report WHERE id = \(id)").first?.decode(as: SubjectID.self)
    }

    /// Whose content was reported; nil when there is no such report.
    func owner(of id: ReportID) async throws -> UserID? {
        try await database.query("SELECT owner FROM report WHERE id = \(id)").first?.decode(as: UserID.self)
    }

    /// A report, locked; nil when there is none.
    func lock(_ id: ReportID, _ sql: Transaction) async throws -> StoredReport? {
        try await sql.query("SELECT \(Self.columns) FROM report WHERE id = \(id) FOR UPDATE").first.map(Self.report)
    }

    /// One action about a user at a time, so that the events about them keep their order.
    func lockOwner(_ owner: UserID, _ sql: Transaction) async throws {
        try await sql.lock(named: "moderated \(owner)")
    }

    /// Stores what was done about a report that is locked.
    func store(_ action: StoredAction, status: Moderation.Status, on id: ReportID, _ sql: Transaction) async throws {
        try await sql.execute(
            """
            UPDATE report SET status = \(status.rawValue), action_id = \(action.id), action = \(action.action.rawValue),
                moderator = \(action.moderator), taken_at = \(action.takenAt), until = \(action.until), note = \(action.note)
            WHERE id = \(id)
            """
        )
    }

    /// Reports of one status, newest first.
    func list(_ status: Moderation.Status, before cursor: PageCursor?, offset: Int, limit: Int) async throws -> [StoredReport] {
        var position: Query = ""
        if let cursor {
            let id: ReportID = cursor.id()
            position = "AND (created_at, id) < (\(cursor.instant), \(id))"
        }
        return try await database.query(
            """
            SELECT \(Self.columns) FROM report WHERE status = \(status.rawValue) \(position)
            ORDER BY created_at DESC, id DESC OFFSET \(offset) LIMIT \(limit)
            """
        ).map(Self.report)
    }

    private static func report(_ row: Row) throws -> StoredReport {
        StoredReport(
            id: try row.get("id"),
            reporter: try row.get("reporter"),
            subjectType: ReportSubject(rawValue: try row.get("subject_type")),
            subject: try row.get("subject_id"),
            owner: try row.get("owner"),
            reason: ReportReason(rawValue: try row.get("reason")),
            description: try row.get("description"),
            reporters: try row.get("reporters"),
            status: Moderation.Status(rawValue: try row.get("status")) ?? .pending,
            createdAt: try row.get("created_at"),
            action: try action(row),
            source: ReportSource(rawValue: Int32(try row.get("source", as: Int16.self))),
            labels: zip(try row.get("labels", as: [String].self), try row.get("confidences", as: [Double].self)).map {
                ReportLabel(name: $0, confidence: $1)
            }
        )
    }

    private static func action(_ row: Row) throws -> StoredAction? {
        guard let id = try row.get("action_id", as: ModerationActionID?.self),
            let action = Moderation.Action(rawValue: try row.get("action", as: Int32.self))
        else { return nil }
        return StoredAction(
            id: id,
            action: action,
            moderator: try row.get("moderator"),
            takenAt: try row.get("taken_at"),
            until: try row.get("until"),
            note: try row.get("note")
        )
    }
}
