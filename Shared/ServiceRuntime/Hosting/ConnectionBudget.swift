internal import Database
internal import Kernel
internal import Runtime

/// Whether PostgreSQL lets a replica have the connections that it is configured for (D7).
struct ConnectionBudget: Sendable, Equatable {
    /// What `database.pool` says.
    var pool: Int
    /// Whether one more shows that the replica lives (`ReplicaPresence`), as `database.presence` says.
    var hasPresence: Bool
    /// `max_connections`.
    var limit: Int
    /// Of those, what PostgreSQL keeps for superusers and the like.
    var reserved: Int
    /// The least that the role, or the database, is limited to; nil for no limit of their own.
    var ownLimit: Int?
    /// How many clients have a connection, this replica included; nil for a replica without presence, which is not restarted beside others.
    var used: Int?

    /// Connections of one replica.
    var needed: Int { pool + beside }
    private var beside: Int { hasPresence ? 1 : 0 }
    private var available: Int { min(limit - reserved, ownLimit ?? .max) }

    /// What PostgreSQL says.
    ///
    /// - Throws: `DatabaseError`.
    static func read(pool: Int, hasPresence: Bool, from database: Database) async throws -> ConnectionBudget {
        // Newer servers than 15 reserve some for a role, too.
        let rows = try await database.query(
            """
            SELECT current_setting('max_connections')::int,
                current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true)::int, 0),
                (SELECT min(own) FROM (
                    SELECT rolconnlimit AS own FROM pg_roles WHERE rolname = current_user AND NOT rolsuper
                    UNION ALL SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS own_limit WHERE own >= 0),
                CASE WHEN \(hasPresence) THEN (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') END
            """
        )
        guard let row = rows.first else { throw ServiceError.internal }
        let (limit, reserved, ownLimit, used) = try row.decode(as: (Int.self, Int.self, Int?.self, Int?.self))
        return ConnectionBudget(
            pool: pool,
            hasPresence: hasPresence,
            limit: limit,
            reserved: reserved,
            ownLimit: ownLimit,
            used: used
        )
    }

    /// Why this replica can never have its connections; nil when it can.
    var problem: String? {
        guard needed > available else { return nil }
        let most = available - beside
        let wayOut = most > 0 ? "Set database.pool to at most \(most), or allow" : "Allow"
        guard let ownLimit, ownLimit < limit - reserved else {
            return
                "database.pool is \(pool), so this replica needs \(needed) connections, but PostgreSQL gives at most \(available) (max_connections \(limit), of which \(reserved) are reserved). \(wayOut) more: max_connections must be at least \(needed + reserved), and as many more for each further replica of each service."
        }
        return
            "database.pool is \(pool), so this replica needs \(needed) connections, but the role or the database is limited to \(ownLimit). \(wayOut) more: CONNECTION LIMIT must be at least \(needed) for each replica."
    }

    /// What an operator should know although the replica starts: no room for one more like this one, as a rolling restart needs it.
    var warning: String? {
        guard let used, used + needed > limit - reserved else { return nil }
        return
            "\(used) of PostgreSQL's \(limit - reserved) connections are in use: there is no room for \(needed) of one more replica"
    }
}
