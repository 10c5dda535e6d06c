internal import Database
internal import Kernel
internal import StreaksDomain

/// Streaks that ended with their user's account remember what identified them, so that they can go on when it is restored (AU-7).
enum EndedAccountRepository {
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
}
