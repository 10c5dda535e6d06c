internal import CommonAPI
internal import Database
internal import Kernel

/// Which streams are open, over all gateways.
///
/// A lease counts until `length` after its last renewal. Its row stays for longer: while this service was away no gateway could renew any, and
/// none has to open its streams anew for that.
struct LeaseRepository: Sendable {
    /// Seconds without renewal after which a lease does not count any more; gateways renew every 20 s.
    static let length = 60
    /// Seconds after that for which it can still be renewed.
    private static let grace = 600

    let database: Database

    /// Makes or renews a lease of a user whose counter is locked.
    ///
    /// - Parameter most: leases of a user that count at once.
    /// - Returns: false when the user has as many, or the lease is another user's.
    static func hold(_ lease: LeaseID, of user: UserID, atMost most: Int, _ sql: Transaction) async throws -> Bool {
        let expiry: Query = "clock_timestamp() + make_interval(secs => \(length))"
        let renewed = try await sql.execute(
            "UPDATE live_lease SET expires_at = \(expiry) WHERE id = \(lease) AND user_id = \(user)"
        )
        if renewed > 0 { return true }
        return try await sql.execute(
            """
            INSERT INTO live_lease (id, user_id, expires_at) SELECT \(lease)::uuid, \(user)::uuid, \(expiry)
            WHERE (SELECT count(*) FROM live_lease WHERE user_id = \(user) AND expires_at > clock_timestamp()) < \(most)
            ON CONFLICT (id) DO NOTHING
            """
        ) > 0
    }

    /// Renews leases. - Returns: those that exist, with their users' newest ids.
    func renew(_ leases: [LeaseID]) async throws -> [StreamState] {
        guard !leases.isEmpty else { return [] }
        return try await database.query(
            """
            WITH renewed AS (
                UPDATE live_lease SET expires_at = clock_timestamp() + make_interval(secs => \(Self.length))
                WHERE id = ANY(\(leases)) RETURNING id, user_id
            )
            SELECT id, COALESCE(last_id, 0) FROM renewed LEFT JOIN live_user USING (user_id)
            """
        ).map { row in
            let (lease, last) = try row.decode(as: (LeaseID.self, Int64.self))
            return StreamState(leaseID: lease, lastID: last)
        }
    }

    /// Deletes leases of streams that have ended.
    func end(_ leases: [LeaseID]) async throws {
        guard !leases.isEmpty else { return }
        _ = try await database.execute("DELETE FROM live_lease WHERE id = ANY(\(leases))")
    }

    /// Deletes the leases of gateways that have ended without ending them, up to 5,000. There are no more rows than streams, so this reads
    /// all of them instead of having each renewal change an index. - Returns: how many.
    func purge() async throws -> Int {
        try await database.execute(
            """
            DELETE FROM live_lease WHERE id IN
                (SELECT id FROM live_lease WHERE expires_at < clock_timestamp() - make_interval(secs => \(Self.grace))
                    LIMIT 5000 FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
