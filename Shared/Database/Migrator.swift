public import Kernel

/// One step of a schema, forward only, compatible with the release before it.
public struct Migration: Sendable {
    /// 1, 2, 3, …
    public let version: Int
    /// For people to read.
    public let name: String
    /// One or more statements; run in one transaction, so none that cannot be (`CREATE INDEX CONCURRENTLY`).
    public let sql: [UInt8]

    /// A migration from an embedded file.
    public init(version: Int, name: String, sql: [UInt8]) {
        self.version = version
        self.name = name
        self.sql = sql
    }

    /// A migration from a text.
    public init(version: Int, name: String, sql: String) { self.init(version: version, name: name, sql: Array(sql.utf8)) }
}

/// Brings a schema up to date.
///
/// The sequence, in one session: create the schema if it is missing; take an advisory lock of this schema, so that replicas that start
/// together wait for each other; create the table `schema_migrations` if it is missing; compare what was applied with what is known;
/// apply what is missing, each migration in a transaction with its row. A failure leaves what came before it applied.
///
/// Versions above the known ones are left alone: a newer release was here, and a migration is compatible with the release before it.
public struct Migrator: Sendable {
    private let scope: String
    private let migrations: [Migration]
    private let timeout: Interval

    /// - Parameters:
    ///   - scope: whose migrations these are; modules that share a schema number theirs each from 1.
    ///   - migrations: all there are, in any order.
    ///   - timeout: for one statement, and for waiting for another replica's migrations; default 10 minutes.
    public init(scope: String = "service", migrations: [Migration], timeout: Interval = .minutes(10)) {
        self.scope = scope
        self.migrations = migrations.sorted { $0.version < $1.version }
        self.timeout = timeout
    }

    /// Applies what is missing; does nothing when nothing is.
    ///
    /// - Throws: `DatabaseError` `migration` when the migrations are not numbered 1, 2, 3, … or an applied one was changed since;
    ///   `insufficientPrivilege` when the schema is missing and the role may not create it; what a migration fails with.
    public func run(on database: Database) async throws {
        do {
            try await migrate(database)
        } catch let error as DatabaseError where error.code == .outcomeUnknown {
            // The table of migrations knows the outcome, so that running again is safe.
            throw DatabaseError(.connectionLost)
        }
    }

    private func migrate(_ database: Database) async throws {
        for (index, migration) in migrations.enumerated() where migration.version != index + 1 {
            throw DatabaseError(.migration, detail: "\(scope): versions must be 1, 2, 3, …")
        }
        try await database.withSession(statementTimeout: timeout) { session in
            // Two databases never meet here, and two schemas of one only by a collision, which costs waiting and nothing else.
            try await session.execute(
                "SELECT pg_advisory_lock(hashtextextended(\("streaksnap migrations " + database.schema), 0))"
            )
            try await prepare(session, schema: database.schema)
            let applied = try await self.applied(session)
            for migration in migrations {
                let checksum = try await self.checksum(of: migration, session)
                if let known = applied[migration.version] {
                    guard known == checksum else {
                        throw DatabaseError(.migration, detail: "\(scope) \(migration.version): changed after it was applied")
                    }
                } else {
                    guard !applied.keys.contains(where: { $0 > migration.version }) else {
                        throw DatabaseError(
                            .migration,
                            detail: "\(scope) \(migration.version): a later one was applied before it"
                        )
                    }
                    try await apply(migration, checksum, session)
                }
            }
        }
    }

    private func prepare(_ session: DatabaseSession, schema: String) async throws {
        // Asked first: `IF NOT EXISTS` needs the right to create even when there is nothing to create.
        if try await session.query("SELECT 1 FROM pg_namespace WHERE nspname = \(schema)").isEmpty {
            try await session.execute("CREATE SCHEMA IF NOT EXISTS \(identifier: schema)")
        }
        try await session.execute(
            """
            CREATE TABLE IF NOT EXISTS \(identifier: schema).schema_migrations (
                scope text NOT NULL,
                version bigint NOT NULL CHECK (version > 0),
                name text NOT NULL,
                checksum bytea NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now(),
                PRIMARY KEY (scope, version)
            )
            """
        )
    }

    private func applied(_ session: DatabaseSession) async throws -> [Int: [UInt8]] {
        var applied: [Int: [UInt8]] = [:]
        for row in try await session.query("SELECT version, checksum FROM schema_migrations WHERE scope = \(scope)") {
            let (version, checksum) = try row.decode(as: (Int.self, [UInt8].self))
            applied[version] = checksum
        }
        return applied
    }

    private func checksum(of migration: Migration, _ session: DatabaseSession) async throws -> [UInt8] {
        guard let row = try await session.query("SELECT sha256(\(migration.sql))").first else { throw DatabaseError(.migration) }
        return try row.decode(as: [UInt8].self)
    }

    private func apply(_ migration: Migration, _ checksum: [UInt8], _ session: DatabaseSession) async throws {
        guard let sql = String(validating: migration.sql, as: UTF8.self) else {
            throw DatabaseError(.migration, detail: "\(scope) \(migration.version): not UTF-8")
        }
        try await session.execute("BEGIN")
        try await session.run(script: sql)
        // Refused outside a transaction: a migration that ends the transaction itself must not pass.
        try await session.execute("SAVEPOINT migrated")
        try await session.execute(
            """
            INSERT INTO schema_migrations (scope, version, name, checksum)
            VALUES (\(scope), \(migration.version), \(migration.name), \(checksum))
            """
        )
        try await session.execute("COMMIT")
    }
}
