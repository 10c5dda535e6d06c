public import Database
public import Kernel
public import Logging
private import Synchronization

/// Shows the other replicas that this one lives, by an advisory lock that a connection of its own holds (D21).
///
/// A lease notes its holder's lock beside the time at which it runs out. A replica that finds that lock free takes the lease over: a killed
/// process loses its connection at once, and of a frozen one, or one behind a broken network, the server ends the connection when it has
/// missed its heartbeats for a second. Without the lock (too few connections, PgBouncer) only the time counts.
///
/// The same connection holds claims: what one replica works on, and another must not begin (`claim`).
public final class ReplicaPresence: Sendable {
    /// How often the connection says something.
    static let heartbeat = Duration.milliseconds(250)
    /// How long the server waits for that, in whole seconds.
    private let mostSilence: Interval
    /// How long a pause is after a failure.
    private static let pause = Duration.milliseconds(100)

    /// The number of the lock: as good as unique among all services of a database.
    let key: Int64
    private let database: Database
    private let logger: Logger
    private let isShown = Atomic(false)
    /// While the lock is held.
    private let session = Mutex<DatabaseSession?>(nil)

    /// - Parameters:
    ///   - configuration: the database of the leases. Its pool is not used: this makes one connection beside it.
    ///   - logger: for failures that last.
    public convenience init(_ configuration: DatabaseConfiguration, ids: any IDSource, logger: Logger) {
        self.init(configuration, ids: ids, logger: logger, mostSilence: .seconds(1))
    }

    /// - Parameter mostSilence: how long the server waits for the heartbeat of a replica, in whole seconds.
    init(_ configuration: DatabaseConfiguration, ids: any IDSource, logger: Logger, mostSilence: Interval) {
        var own = configuration
        own.poolSize = 1
        own.statementTimeout = .seconds(2)
        // What the pool meets the pool says; this would say it again.
        database = Database(own, logger: Logger(label: "presence") { _ in SwiftLogNoOpLogHandler() })
        let id: ID<ReplicaPresence> = ids.make()
        key = Int64(bitPattern: id.low)
        self.logger = logger
        self.mostSilence = mostSilence
    }

    /// The number of the lock, for a lease's row; nil while this replica does not hold it.
    var shown: Int64? { isShown.load(ordering: .acquiring) ? key : nil }

    /// Holds the lock until the task is cancelled, and takes it again whenever it is lost.
    public func run() async {
        do { try await database.start() } catch {
            logger.warning("leases go by their time only", metadata: ["error": "\(error)"])
            return
        }
        var failures = 0
        while !Task.isCancelled {
            do { try await database.withSession(show) } catch {
                // A server that ends the session of a process that was frozen is as it should be.
                failures = isShown.exchange(false, ordering: .acquiringAndReleasing) ? 0 : failures + 1
                if failures % 100 == 30, !Task.isCancelled {
                    logger.warning("leases go by their time only", metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: Self.pause)
        }
        isShown.store(false, ordering: .releasing)
        await database.stop()
    }

    private func show(_ session: DatabaseSession) async throws {
        let silence = "\(mostSilence.seconds)s"
        _ = try await session.query("SELECT set_config('idle_session_timeout', \(silence), false)")
        // The session before this one may hold it for another moment.
        while try await session.query("SELECT 1 WHERE pg_try_advisory_lock(\(key))").isEmpty {
            try await Task.sleep(for: Self.pause)
        }
        self.session.withLock { $0 = session }
        defer { self.session.withLock { $0 = nil } }
        isShown.store(true, ordering: .releasing)
        while true {
            try await Task.sleep(for: Self.heartbeat)
            _ = try await session.query("SELECT 1")
        }
    }
}

extension ReplicaPresence {
    /// What became of a claim.
    public enum Claim: Sendable {
        /// This replica has it, until `release` or until its connection ends.
        case taken
        /// Another replica has it.
        case takenElsewhere
        /// There is no connection to say.
        case unknown
    }

    /// Claims something, without waiting. It helps against work that is done twice; a transaction that must not run twice has a lock of its own,
    /// since a claim falls with the connection, whatever its replica does.
    ///
    /// - Parameter number: what is claimed, the same at all replicas. One that this replica has already it gets again. A claim is not to be
    ///   cancelled: whether it was taken would be unknown.
    public func claim(_ number: Int64) async -> Claim {
        guard let session = session.withLock({ $0 }) else { return .unknown }
        do {
            let rows = try await session.query("SELECT 1 WHERE pg_try_advisory_lock(\(number))")
            return rows.isEmpty ? .takenElsewhere : .taken
        } catch {
            // It may have been taken all the same.
            await release(number)
            return .unknown
        }
    }

    /// Gives a claim back. One that is not held is none.
    public func release(_ number: Int64) async {
        guard let session = session.withLock({ $0 }) else { return }
        // When it fails, the claim falls with its connection.
        _ = try? await session.query("SELECT pg_advisory_unlock(\(number))")
    }
}

/// A lease's row: who may take it over.
enum LeaseRow {
    /// Whether a replica may take the lease: it is its own, its time is up, or its holder showed a lock that is free now.
    ///
    /// - Parameter lease: the row's name in the statement.
    static func mayBeTaken(_ lease: Query, by holder: Query) -> Query {
        """
        (CASE WHEN \(lease).holder = \(holder) OR \(lease).held_until < clock_timestamp() THEN true
            WHEN \(lease).presence IS NULL THEN false
            ELSE pg_try_advisory_xact_lock_shared(\(lease).presence) END)
        """
    }
}
