import Database
import Synchronization
import TestSupport
import Testing

/// The code of the `DatabaseError` that `body` throws; nil when it throws none.
func code(of body: () async throws -> some Any) async -> DatabaseError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? DatabaseError)?.code
    }
}

extension QueryExecutor {
    /// The one value of a one-row result.
    func value<Value: PostgresColumn>(_ query: Query, as type: Value.Type = Value.self) async throws -> Value {
        let rows = try await self.query(query)
        return try #require(rows.first).get(at: 0, as: type)
    }

    /// Waits until a statement of this session's schema waits for a lock.
    func untilSomeoneWaitsForALock(_ marker: String) async throws {
        try await eventually {
            try await self.value(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE \("%" + marker + "%") AND pid <> pg_backend_pid()",
                as: Int.self
            ) > 0
        }
    }
}

/// Runs `body` while a statement of `database` is stuck on the server, in flight, until `body` calls `release`; it then answers 7.
func whileBlocked(
    _ database: Database,
    _ body: (_ stuck: Task<Int, any Error>, _ release: () async -> Void) async throws -> Void
) async throws {
    let key = lockKeys.wrappingAdd(1, ordering: .relaxed).newValue
    try await PostgresServer.shared().withDatabase(poolSize: 2) { other in
        let (locked, done) = (Barrier(2), Barrier(2))
        let holder = Task {
            try await other.transaction { sql in
                try await sql.execute("SELECT pg_advisory_xact_lock(\(key))")
                await locked.arrive()
                await done.arrive()
            }
        }
        await locked.arrive()
        let stuck = Task { try await database.value("SELECT 7 FROM pg_advisory_xact_lock(\(key))", as: Int.self) }
        try await eventually {
            try await other.value(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = \(key)",
                as: Int.self
            ) == 1
        }
        try await eventually { database.health.inFlight == 1 }
        try await body(stuck) { await done.arrive() }
        try await holder.value
    }
}

private let lockKeys = Atomic(1_000_000)
