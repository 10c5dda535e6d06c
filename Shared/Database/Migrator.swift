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

/// Migrations that are numbered together: those of a shared module, or those of a feature.
public struct MigrationSet: Sendable {
    /// `outbox`, `profile_replica`, `streaks`: numbering starts anew in each.
    public let scope: String
    /// By version.
    public let migrations: [Migration]

    /// A numbered list, in any order.
    public init(_ scope: String, _ migrations: [Migration]) {
        self.scope = scope
        self.migrations = migrations.sorted { $0.version < $1.version }
    }
}

/// Brings a schema up to date.
///
/// The sequence, in one session: create the schema if it is missing; lock it with an advisory lock, so that replicas that start
/// together wait for each other; create the table `schema_migrations` if it is missing; compare applied with known migrations;
/// apply missing ones, each in a transaction with its row. After a failure, earlier ones stay applied. In the end tables without a setting of
/// their own get `vacuum_truncate` off.
///
/// Versions above the known ones are ignored: a newer release applied them, and a migration is compatible with the release before
/// it.
public struct Migrator: Sendable {
    private let sets: [MigrationSet]
    private let timeout: Interval

    /// - Parameters:
    ///   - sets: in this order, each scope once.
    ///   - timeout: for one statement, and for waiting for another replica's migrations; default 10 minutes.
    public init(_ sets: [MigrationSet], timeout: Interval = .minutes(10)) {
        self.sets = sets
        self.timeout = timeout
    }

    /// One set.
    public init(scope: String = "service", migrations: [Migration], timeout: Interval = .minutes(10)) {
        self.init([MigrationSet(scope, migrations)], timeout: timeout)
    }

    /// Applies missing migrations.
    ///
    /// - Throws: `DatabaseError` `migration` when the migrations of a set are not numbered 1, 2, 3, … or an applied one was changed
    ///   since; `insufficientPrivilege` when the schema is missing and the role may not create it; the error of a failing migration.
    public func run(on database: Database) async throws {
        do {
            try await migrate(database)
        } catch let error as DatabaseError where error.code == .outcomeUnknown {
            // The table of migrations records the outcome, so a repeat is safe.
            throw DatabaseError(.connectionLost)
        }
    }

    private func migrate(_ database: Database) async throws {
        for set in sets {
            for (index, migration) in set.migrations.enumerated() where migration.version != index + 1 {
                throw DatabaseError(.migration, detail: "\(set.scope): versions must be 1, 2, 3, …")
            }
        }
        try await database.withSession(statementTimeout: timeout) { session in
            // The lock is local to a database. Two schemas of one database can only collide by their hash, which costs a wait and
            // nothing else.
            try await session.execute(
                "SELECT pg_advisory_lock(hashtextextended(\("streaksnap migrations " + database.schema), 0))"
            )
            try await prepare(session, schema: database.schema)
            let applied = try await self.applied(session)
            for (step, checksum) in zip(steps, try await checksums(session)) {
                try await migrate(step, checksum, applied[step.scope] ?? [:], session)
            }
            try await session.run(script: Self.keepingPages)
        }
    }

    /// To give empty pages at the end of a table back to the file system, vacuum locks out all who read or write it, for some hundred
    /// milliseconds. Most tables grow again soon: `VACUUM (TRUNCATE)` does it for the others.
    private static let keepingPages = """
        DO $$
        DECLARE
            name text;
        BEGIN
            FOR name IN SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
                AND pg_has_role(relowner, 'USAGE')
                AND NOT EXISTS (SELECT FROM unnest(reloptions) AS option WHERE option LIKE 'vacuum_truncate=%') ORDER BY relname
            LOOP
                EXECUTE format('ALTER TABLE %I SET (vacuum_truncate = false, toast.vacuum_truncate = false)', name);
            END LOOP;
        END $$
        """

    private struct Step {
        let scope: String
        let migration: Migration
    }

    private var steps: [Step] { sets.flatMap { set in set.migrations.map { Step(scope: set.scope, migration: $0) } } }

    /// - Parameter applied: the checksums of what was applied of the scope, by version.
    private func migrate(_ step: Step, _ checksum: [UInt8], _ applied: [Int: [UInt8]], _ session: DatabaseSession) async throws {
        let name = "\(step.scope) \(step.migration.version)"
        if let known = applied[step.migration.version] {
            guard known == checksum else { throw DatabaseError(.migration, detail: "\(name): changed after it was applied") }
        } else {
            guard !applied.keys.contains(where: { $0 > step.migration.version }) else {
                throw DatabaseError(.migration, detail: "\(name): a later one was applied before it")
            }
            try await apply(step, checksum, session)
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

    /// The checksums of what was applied, by scope and version.
    private func applied(_ session: DatabaseSession) async throws -> [String: [Int: [UInt8]]] {
        var applied: [String: [Int: [UInt8]]] = [:]
        let scopes = sets.map(\.scope)
        for row in try await session.query(
            "SELECT scope, version, checksum FROM schema_migrations WHERE scope = ANY(\(scopes))"
        ) {
            let (scope, version, checksum) = try row.decode(as: (String.self, Int.self, [UInt8].self))
            applied[scope, default: [:]][version] = checksum
        }
        return applied
    }

    /// Of all known migrations, in their order. This module has no cryptography, and PostgreSQL has.
    private func checksums(_ session: DatabaseSession) async throws -> [[UInt8]] {
        let scripts = steps.map(\.migration.sql)
        let rows = try await session.query(
            "SELECT sha256(script) FROM unnest(\(scripts)) WITH ORDINALITY AS known (script, place) ORDER BY place"
        )
        return try rows.map { try $0.decode(as: [UInt8].self) }
    }

    private func apply(_ step: Step, _ checksum: [UInt8], _ session: DatabaseSession) async throws {
        let (scope, migration) = (step.scope, step.migration)
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
