package import AuthAPI
package import CommonAPI
package import Database
package import Kernel

/// An entry of the audit log.
package struct AdminAction: Sendable {
    let id: AdminActionID
    let admin: UserID
    let kind: AdminActionKind
    /// About whom; nil when it is about no user.
    let subject: UserID?
    /// The reason that was given, or what was done exactly.
    let detail: String
    let takenAt: Instant
    let requestID: String

    package init(
        id: AdminActionID,
        admin: UserID,
        kind: AdminActionKind,
        subject: UserID?,
        detail: String = "",
        takenAt: Instant,
        requestID: String
    ) {
        (self.id, self.admin, self.kind, self.subject) = (id, admin, kind, subject)
        (self.detail, self.takenAt, self.requestID) = (detail, takenAt, requestID)
    }
}

/// The audit log: entries are added, and never changed. Its table is of the feature `accounts`.
package struct AdminActionRepository: Sendable {
    /// Most characters of a detail.
    private static let longestDetail = 500

    let database: Database

    package init(database: Database) { self.database = database }

    /// Adds entries; those that are there already stay as they are.
    package static func insert(_ actions: [AdminAction], _ sql: some QueryExecutor) async throws {
        guard !actions.isEmpty else { return }
        try await sql.execute(
            """
            INSERT INTO admin_action (id, admin_id, kind, subject_id, detail, taken_at, request_id)
            SELECT * FROM unnest(\(actions.map(\.id)), \(actions.map(\.admin)), \(actions.map(\.kind.rawValue)),
                \(actions.map(\.subject)), \(actions.map { String($0.detail.prefix(Self.longestDetail)) }),
                \(actions.map(\.takenAt)), \(actions.map(\.requestID)))
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// Entries before a place, the newest first, with the usernames of both accounts as far as they are there.
    ///
    /// - Parameters:
    ///   - admin: of whom only; nil for all.
    ///   - subject: about whom only; nil for all.
    package func list(admin: UserID?, subject: UserID?, before place: (at: Instant, id: AdminActionID)?, limit: Int) async throws
        -> [AdminActionEntry]
    {
        let ofAdmin: Query = admin.map { "AND admin_id = \($0)" } ?? ""
        let ofSubject: Query = subject.map { "AND subject_id = \($0)" } ?? ""
        let rest: Query = place.map { "AND (taken_at, id) < (\($0.at), \($0.id))" } ?? ""
        return try await database.query(
            """
            SELECT e.id, e.admin_id, coalesce(a.username, ''), e.kind, e.subject_id, coalesce(s.username, ''), e.detail, e.taken_at,
                e.request_id
            FROM (SELECT * FROM admin_action WHERE true \(ofAdmin) \(ofSubject) \(rest)
                ORDER BY taken_at DESC, id DESC LIMIT \(limit)) AS e
            LEFT JOIN account a ON a.id = e.admin_id LEFT JOIN account s ON s.id = e.subject_id
            ORDER BY e.taken_at DESC, e.id DESC
            """
        ).map { row in
            let (id, admin, adminName, kind, subject, name, detail, takenAt, request) = try row.decode(
                as: (
                    AdminActionID.self, UserID.self, String.self, Int32.self, UserID?.self, String.self, String.self,
                    Instant.self, String.self
                )
            )
            return AdminActionEntry(
                actionID: id,
                adminID: admin,
                adminUsername: adminName,
                kind: AdminActionKind(rawValue: kind),
                userID: subject,
                username: name,
                detail: detail,
                takenAt: takenAt,
                requestID: request
            )
        }
    }

    /// Deletes the words about a person; what was done stays.
    package static func deleteDetails(about user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE admin_action SET detail = '' WHERE subject_id = \(user) AND detail <> ''")
    }
}
