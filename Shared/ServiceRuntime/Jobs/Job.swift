public import Kernel
public import Outbox

/// Time-driven work: finds its due rows by an index, in batches, and replicas share it (D7).
public struct Job: Sendable {
    /// For logs and metrics.
    public let name: String
    /// How long after a run that found nothing the next one follows, by the machine's clock.
    public let interval: Duration
    /// Whether something is known to come soon: then the next run follows after a fifth of the interval.
    public let isExpecting: @Sendable () -> Bool
    /// Raised where this replica stores rows for the job (`UnitOfWork.whenEnded`): then the next run follows at once. Other replicas find
    /// the rows after the interval.
    public let signal: WakeSignal?
    /// Batches that one replica works on at a time, at most: so that the database and the replica are both busy when much is due.
    public let lanes: Int
    /// How long one batch may take before it is given up and the next one begun beside it. Statements and calls have shorter limits of their
    /// own; this one is for what no limit ended.
    public let limit: Duration
    /// Since when the row that has waited longest is due; nil when none is. For the metric of how late the job is.
    public let oldestDue: (@Sendable () async throws -> Instant?)?
    /// Deals with one batch of what is due at the instant.
    ///
    /// Returns how many rows it dealt with; 0 means nothing is due. Safe to run on several replicas and to repeat.
    public let run: @Sendable (Instant) async throws -> Int

    /// Declares a job.
    public init(
        _ name: String,
        every interval: Duration,
        lanes: Int = 1,
        limit: Duration = .seconds(300),
        expecting isExpecting: @escaping @Sendable () -> Bool = { false },
        wokenBy signal: WakeSignal? = nil,
        oldestDue: (@Sendable () async throws -> Instant?)? = nil,
        run: @escaping @Sendable (Instant) async throws -> Int
    ) {
        self.name = name
        self.interval = interval
        self.lanes = max(1, lanes)
        self.limit = limit
        self.isExpecting = isExpecting
        self.signal = signal
        self.oldestDue = oldestDue
        self.run = run
    }
}
