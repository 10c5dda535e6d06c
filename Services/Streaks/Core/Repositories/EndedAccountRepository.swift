package import Database
package import Kernel
internal import StreaksDomain

/// Streaks that ended with a user's account (AU-7): those of one person remember what identified them, so that they can go on when it is
/// restored; those with others are marked, so that their number can be said then.
package enum EndedAccountRepository {
    /// Remembers the keys of streaks that are about to end with an account.
    static func keepKeys(of streaks: [StreakID], _ sql: Transaction) throws {
        guard !streaks.isEmpty else { return }
        try sql.enqueue(
            """
            UPDATE streak SET key_until_deletion = i.key FROM streak_identity i
            WHERE i.streak_id = streak.id AND streak.id = ANY(\(streaks))
            """
        )
    }

    /// The streaks of a user that ended with the account and have not come back.
    ///
    /// - Parameter kind: nil means all.
    static func streaks(of user: UserID, kind: StreakKind? = nil, _ sql: Transaction) async throws -> [StreakID] {
        let ofKind: Query = kind.map { "AND kind = \($0.rawValue)" } ?? ""
        let kept = MemberRepository.rows(of: user, "key_until_deletion IS NOT NULL \(ofKind)")
        return try await sql.query("SELECT id FROM (\(kept)) AS mine").map { try $0.decode(as: StreakID.self) }
    }

    /// Gives streaks their keys back. One whose key another streak has by now stays as it is.
    ///
    /// - Returns: those that have their key again.
    static func giveKeysBack(to streaks: [StreakID], _ sql: Transaction) async throws -> Set<StreakID> {
        let given = try await sql.query(
            """
            INSERT INTO streak_identity (kind, key, streak_id)
            SELECT kind, key_until_deletion, id FROM streak WHERE id = ANY(\(streaks)) AND key_until_deletion IS NOT NULL ORDER BY id
            ON CONFLICT DO NOTHING RETURNING streak_id
            """
        ).map { try $0.decode(as: StreakID.self) }
        try sql.enqueue("UPDATE streak SET key_until_deletion = NULL WHERE id = ANY(\(given))")
        return Set(given)
    }

    /// The streaks of a user stay ended, whatever becomes of the account.
    static func forget(_ user: UserID, _ sql: Transaction) async throws {
        let ids = try await streaks(of: user, sql)
        if !ids.isEmpty { try sql.enqueue("UPDATE streak SET key_until_deletion = NULL WHERE id = ANY(\(ids))") }
    }

    /// Marks those of these streaks with others that ran until they ended with an account.
    static func mark(_ changes: [PlannedChange], _ sql: Transaction) throws {
        let ended = changes.compactMap { change -> (streak: StreakID, user: UserID)? in
            guard change.change.endedCount > 0, !change.row.kind.isOfOnePerson else { return nil }
            return change.deletedUser.map { (change.row.id, $0) }
        }
        guard !ended.isEmpty else { return }
        try sql.enqueue(
            """
            UPDATE streak SET ended_with = new.user_id FROM unnest(\(ended.map(\.streak)), \(ended.map(\.user))) AS new (id, user_id)
            WHERE streak.id = new.id
            """
        )
    }

    /// How many streaks with friends ran until they ended with the account of a user, since it was last restored.
    ///
    /// - Returns: nil while one of them has not ended.
    package static func mutualCount(of user: UserID, _ database: Database) async throws -> Int32? {
        let ended = StreakState.Status.ended.stored
        let mutual = MemberRepository.rows(
            of: user,
            "kind = \(StreakKind.mutual.rawValue) AND (status <> \(ended) OR ended_with = \(user))"
        )
        let statuses = try await database.query("SELECT status FROM (\(mutual)) AS mine").map { try $0.decode(as: Int32.self) }
        return statuses.allSatisfy { $0 == ended } ? Int32(clamping: statuses.count) : nil
    }

    /// The account was restored: which streaks ended with it is not asked any more.
    static func dropMarks(of user: UserID, _ sql: Transaction) throws {
        let marked = MemberRepository.rows(of: user, "ended_with = \(user)")
        try sql.enqueue("UPDATE streak SET ended_with = NULL WHERE id IN (SELECT id FROM (\(marked)) AS mine)")
    }
}
