internal import Database
internal import Kernel

/// Second factors and their recovery codes.
struct SecondFactorRepository: Sendable {
    let database: Database

    /// A row as it stands.
    struct Stored: Sendable {
        /// Encrypted; nil until a code has confirmed the first one.
        let secret: [UInt8]?
        /// The newest step whose code was used.
        let lastStep: Int64
        /// Encrypted; waits for its first code.
        let pending: (secret: [UInt8], until: Instant)?
    }

    /// The row of an account, locked until the transaction ends; nil when it never asked for a second factor.
    func lock(_ account: UserID, _ sql: Transaction) async throws -> Stored? {
        try await sql.query(
            """
            SELECT secret, last_step, pending_secret, pending_until FROM second_factor WHERE account_id = \(account) FOR UPDATE
            """
        ).first.map { row in
            let (secret, step, pending, until) = try row.decode(
                as: ([UInt8]?.self, Int64.self, [UInt8]?.self, Instant?.self)
            )
            return Stored(secret: secret, lastStep: step, pending: pending.flatMap { secret in until.map { (secret, $0) } })
        }
    }

    /// Since when an account has a second factor, and how many recovery codes it has left.
    func state(of account: UserID, _ sql: some QueryExecutor) async throws -> (enrolledAt: Instant?, codesLeft: Int32)? {
        try await sql.query(
            """
            SELECT enrolled_at, (SELECT count(*)::integer FROM recovery_code WHERE account_id = \(account))
            FROM second_factor WHERE account_id = \(account)
            """
        ).first.map { row in
            let (enrolledAt, left) = try row.decode(as: (Instant?.self, Int32.self))
            return (enrolledAt, left)
        }
    }

    /// Stores a secret that waits for its first code, instead of one that waits.
    func store(pending secret: [UInt8], until: Instant, of account: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO second_factor (account_id, pending_secret, pending_until) VALUES (\(account), \(secret), \(until))
            ON CONFLICT (account_id) DO UPDATE
                SET pending_secret = EXCLUDED.pending_secret, pending_until = EXCLUDED.pending_until
            """
        )
    }

    /// Makes the waiting secret the second factor, with recovery codes of its own.
    func confirm(step: Int64, codes: [[UInt8]], of account: UserID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE second_factor SET secret = pending_secret, enrolled_at = \(now), last_step = \(step),
                pending_secret = NULL, pending_until = NULL
            WHERE account_id = \(account)
            """
        )
        _ = try await sql.execute("DELETE FROM recovery_code WHERE account_id = \(account)")
        _ = try await sql.execute(
            "INSERT INTO recovery_code (account_id, code_hash) SELECT \(account)::uuid, c.hash FROM unnest(\(codes)) AS c (hash)"
        )
    }

    /// Uses up the codes of a step and of all before it.
    func store(lastStep: Int64, of account: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE second_factor SET last_step = \(lastStep) WHERE account_id = \(account)")
    }

    /// Uses up a recovery code. - Returns: false when there is no such code.
    func use(recoveryCode hash: [UInt8], of account: UserID, _ sql: Transaction) async throws -> Bool {
        try await sql.execute("DELETE FROM recovery_code WHERE account_id = \(account) AND code_hash = \(hash)") == 1
    }

    /// Removes the second factor with its recovery codes, and a secret that waits. - Returns: false when there was no second factor.
    static func delete(_ account: UserID, _ sql: Transaction) async throws -> Bool {
        try await sql.query("DELETE FROM second_factor WHERE account_id = \(account) RETURNING enrolled_at IS NOT NULL").first
            .map { try $0.decode(as: Bool.self) } ?? false
    }
}
