public import Bus
public import Database
public import Kernel
public import Outbox
public import ServiceRuntime
internal import SocialAPI

/// Who blocks whom, in a service's own schema: fed by `social`'s events, complete from a snapshot (SO-7, D13).
///
/// A service that shows users, or what they made, to others leaves out those that either blocks.
public struct BlockReplica: Sendable {
    private let database: Database
    private let safety: SafetyClient
    private let stored: @Sendable (_ blocker: UserID, _ blocked: UserID, Transaction) async throws -> Void

    /// - Parameters:
    ///   - database: the service's own; `migrations` made its tables.
    ///   - bus: to ask `social` for the snapshot.
    ///   - stored: runs in the transaction that stores a block or its end, when that was news, however it came here.
    public init(
        database: Database,
        bus: any Caller,
        stored: @escaping @Sendable (_ blocker: UserID, _ blocked: UserID, Transaction) async throws -> Void = { _, _, _ in }
    ) {
        self.database = database
        self.safety = SafetyClient(bus)
        self.stored = stored
    }

    /// The replica's tables, for the service's list of migrations.
    public static let migrations: [Migration] = [
        Migration(version: 1, name: "block_replica", sql: PackageResources.block_V0001_sql),
        Migration(version: 2, name: "block_replica_of_anybody", sql: PackageResources.block_V0002_sql),
    ]

    /// Take up every block and its end. An older version never overwrites a newer one.
    public func handlers() -> [EventHandler] {
        [
            EventHandler(UserBlocked.self) { event, work in
                if let state = event.block { try await store(state, work.sql) }
            },
            EventHandler(UserUnblocked.self) { event, work in
                if let state = event.block { try await store(state, work.sql) }
            },
        ]
    }

    /// Those of `others` who must not be shown to `user`, because either blocks the other.
    ///
    /// - Parameter executor: where to look; default the service's database outside any transaction.
    public func hidden(from user: UserID, among others: some Sequence<UserID>, _ executor: (any QueryExecutor)? = nil)
        async throws
        -> Set<UserID>
    {
        let others = Array(Set(others))
        guard !others.isEmpty else { return [] }
        let rows = try await (executor ?? database).lookup(
            """
            SELECT blocked FROM block_replica WHERE active AND blocker = \(user) AND blocked = ANY(\(others))
            UNION SELECT blocker FROM block_replica WHERE active AND blocked = \(user) AND blocker = ANY(\(others))
            """
        )
        return Set(try rows.map { try $0.decode(as: UserID.self) })
    }

    /// A condition for a service's own statements: whether `person` may be shown to `user`, because neither blocks the other. The blocks of
    /// `user` are read once a statement, however many rows it has.
    ///
    /// - Parameter person: an expression of the statement, a user's id.
    public static func isShown(_ person: Query, to user: UserID) -> Query {
        isShown(person, to: "\(user)" as Query)
    }

    /// The same where the user too is an expression of the statement.
    public static func isShown(_ person: Query, to reader: Query) -> Query {
        """
        NOT (\(person) = ANY (ARRAY(SELECT blocked FROM block_replica WHERE active AND blocker = \(reader)
            UNION ALL SELECT blocker FROM block_replica WHERE active AND blocked = \(reader))))
        """
    }

    /// Fetches every block from `social` unless that was done before; for a job of the service. Safe to repeat.
    public func loadSnapshotOnce(context: CallContext) async throws {
        guard try await database.query("SELECT 1 FROM block_snapshot").isEmpty else { return }
        var after: BlockID?
        while true {
            let page = try await safety.listBlockSnapshots(ListBlockSnapshotsRequest(after: after, limit: 500), context: context)
            guard let last = page.blocks.last else { break }
            try await database.transaction { sql in
                for state in page.blocks { try await store(state, sql) }
            }
            after = last.blockID
        }
        try await database.execute("INSERT INTO block_snapshot (loaded_at) VALUES (clock_timestamp()) ON CONFLICT DO NOTHING")
    }

    /// Fetches the blocks of before the first event, once for each schema.
    public var snapshotJob: Job {
        Job("block_snapshot", every: .seconds(60)) { _ in
            try await loadSnapshotOnce(context: .expiring(in: .minutes(10)))
            return 0
        }
    }

    private func store(_ state: BlockState, _ sql: Transaction) async throws {
        let changes = try await sql.execute(
            """
            INSERT INTO block_replica AS known (block_id, version, blocker, blocked, active)
            VALUES (\(state.blockID), \(state.version), \(state.blockerID), \(state.blockedID), \(state.active))
            ON CONFLICT (block_id) DO UPDATE SET version = EXCLUDED.version, active = EXCLUDED.active
            WHERE known.version < EXCLUDED.version
            """
        )
        if changes == 1 { try await stored(state.blockerID, state.blockedID, sql) }
    }
}
