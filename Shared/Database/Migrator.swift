public import Kernel

/// One step of a schema, forward only, compatible with the release before it.
public struct Migration: Sendable {
    /// 1, 2, 3, …
    public let version: Int
    /// A name for humans.
    public let name: String
    /// One or more statements. They run in one transaction, so `CREATE INDEX CONCURRENTLY` and similar are not possible.
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
/// The sequence, in one session: create the schema if it is missing; lock it with an advisory lock, so that replicas that start
/// together wait for each other; create the table `schema_migrations` if it is missing; compare applied with known migrations;
/// apply missing ones, each in a transaction with its row. After a failure, earlier ones stay applied.
///
/// Versions above the known ones are ignored: a newer release applied them, and a migration is compatible with the release before
/// it.
public struct Migrator: Sendable {
    private let scope: String
    private let migrations: [Migration]
    private let timeout: Interval

    /// - Parameters:
    ///   - scope: the module of these migrations; modules that share a schema each number theirs from 1.
    ///   - migrations: all migrations, in any order.
    ///   - timeout: for one statement, and for waiting for another replica's migrations; default 10 minutes.
    public init(scope: String = "service", migrations: [Migration], timeout: Interval = .minutes(10)) {
        self.scope = scope
        self.migrations = migrations.sorted { $0.version < $1.version }
        self.timeout = timeout
    }

    /// Applies missing migrations.
    ///
    /// - Throws: `DatabaseError` `migration` when the migrations are not numbered 1, 2, 3, … or an applied one was changed since;
    ///   `insufficientPrivilege` when the schema is missing and the role may not create it; the error of a failing migration.
    public func run(on database: Database) async throws {
        do {
            try await migrate(database)
        } catch let error as DatabaseError where error.code == .outcomeUnknown {
            // The table of migrations records the outcome, so a repeat is safe.
            throw DatabaseError(.connectionLost)
        }
    }

    private func migrate(_ database: Database) async throws {
        for (index, migration) in migrations.enumerated() where migration.version != index + 1 {
            throw DatabaseError(.migration, detail: "\(scope): versions must be 1, 2, 3, …")
        }
        try await database.withSession(statementTimeout: timeout) { session in
            // The lock is local to a database. Two schemas of one database can only collide by their hash, which costs a wait and
            // nothing else.
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
        // Checked first: `IF NOT EXISTS` needs the right to create even when there is nothing to create.
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
        // This fails outside a transaction, so a migration that ends the transaction itself is refused.
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
