internal import Database
internal import Kernel
internal import MediaCore

/// A snap whose picture and caption are to be deleted.
struct ErasedSnap: Sendable {
    let id: SnapID
    let user: UserID
    /// Where its renditions lie.
    let keys: [String]
}

extension SnapRepository {
    /// Marks a snap as deleted: it is not shown any more, its links die, and the answer to its upload is not given again. What was reported is kept.
    ///
    /// - Returns: when it was deleted first; nil when the user has no such snap.
    static func markDeleted(_ id: SnapID, of user: UserID, now: Instant, eraseAt: Instant, _ sql: Transaction) async throws
        -> Instant?
    {
        let rows = try await sql.query(
            """
            UPDATE snap SET deleted_at = coalesce(deleted_at, \(now)),
                erase_at = CASE WHEN deleted_at IS NULL AND NOT is_reported THEN \(eraseAt)::timestamptz ELSE erase_at END
            WHERE id = \(id) AND user_id = \(user) RETURNING deleted_at, display_key
            """
        )
        guard let (deletedAt, key) = try rows.first?.decode(as: (Instant.self, String.self)) else { return nil }
        try await ClosedPictureRepository.store(key, of: user, isClosed: true, sql)
        _ = try await sql.execute("DELETE FROM snap_operation WHERE id = \(id) AND user_id = \(user) AND state = 2")
        return deletedAt
    }

    /// What there is of a snap stays, because it was reported.
    static func keep(_ id: SnapID, of user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE snap SET is_reported = true, erase_at = NULL WHERE id = \(id) AND user_id = \(user)")
    }

    /// Locks up to `limit` snaps that are due; other replicas leave them alone until `lease`.
    func lockErasures(now: Instant, until lease: Instant, limit: Int) async throws -> [ErasedSnap] {
        try await database.query(
            """
            UPDATE snap SET erase_at = \(lease) WHERE id IN
                (SELECT id FROM snap WHERE erase_at <= \(now) ORDER BY erase_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING id, user_id, display_key, thumbnail_key
            """
        ).map { row in
            let (id, user, display, thumbnail) = try row.decode(as: (SnapID.self, UserID.self, String.self, String.self))
            return ErasedSnap(id: id, user: user, keys: [display, thumbnail])
        }
    }

    /// Deletes captions whose blobs are deleted, and what closes these.
    func erase(_ snaps: [ErasedSnap]) async throws {
        guard !snaps.isEmpty else { return }
        try await database.transaction { sql in
            _ = try await sql.execute(
                "UPDATE snap SET caption = NULL, is_erased = true, erase_at = NULL WHERE id = ANY(\(snaps.map(\.id)))"
            )
            for (user, gone) in Dictionary(grouping: snaps, by: \.user).sorted(by: { $0.key < $1.key }) {
                try await ClosedPictureRepository.reopen(gone.compactMap(\.keys.first), of: user, sql)
            }
        }
    }

    /// Snaps for moderators, and whether their authors have deleted them.
    func reported(_ ids: [SnapID]) async throws -> [(snap: ShownSnap, isDeleted: Bool)] {
        try await database.query(
            """
            SELECT p.user_id, p.deleted_at IS NOT NULL, \(ShownSnap.columns) FROM snap p
            WHERE p.id = ANY(\(ids)) AND NOT p.is_erased
            """
        ).map { row in
            (snap: try ShownSnap(row, at: 2, of: try row.get(at: 0)), isDeleted: try row.get(at: 1))
        }
    }
}
