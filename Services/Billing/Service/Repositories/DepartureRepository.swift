internal import Database
internal import Kernel

/// What becomes of the ledgers when an account is gone for good (AU-7), and what its owner takes with them (AU-10).
///
/// A new table with something of a person in it belongs into `anonymise` and `export`.
enum DepartureRepository {
    /// Keeps the postings, since books must balance, but nothing that says who or what they were for besides a bare id.
    static func anonymise(_ user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE token_entry SET note = NULL, streak_id = NULL, posting_key = id::text WHERE user_id = \(user)"
        )
        _ = try await sql.execute("DELETE FROM subscription WHERE user_id = \(user)")
    }

    /// What this service holds about a person: a JSON object.
    static func export(_ user: UserID, _ database: Database) async throws -> String {
        let rows = try await database.query(
            """
            SELECT jsonb_build_object(
                'recovery_tokens', coalesce((SELECT balance FROM token_balance WHERE user_id = \(user)), 0),
                'recovery_ledger', coalesce((
                    SELECT jsonb_agg(jsonb_build_object('id', id, 'type', CASE type WHEN 1 THEN 'earned' WHEN 2 THEN 'purchased'
                        WHEN 3 THEN 'used' WHEN 4 THEN 'refunded' ELSE 'bonus' END, 'amount', amount, 'balance_after', balance_after,
                        'streak_id', streak_id, 'note', note, 'created_at', created_at) ORDER BY created_at, id)
                    FROM token_entry WHERE user_id = \(user)), '[]'),
                'subscription', (
                    SELECT jsonb_build_object('product_id', product_id, 'expires_at', expires_at, 'will_renew', will_renew)
                    FROM subscription WHERE user_id = \(user)))::text
            """
        )
        guard let json = try rows.first?.decode(as: String.self) else { throw ServiceError.internal }
        return json
    }
}
