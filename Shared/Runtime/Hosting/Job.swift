public import Kernel

/// Time-driven work: finds its due rows by an index, in batches, and replicas share it (D7).
public struct Job: Sendable {
    /// For logs and metrics.
    public let name: String
    /// How long after a look that found nothing the next one follows, by the machine's clock.
    public let interval: Duration
    /// Deals with one batch of what is due at the instant.
    ///
    /// Returns how many rows it dealt with; 0 means nothing is due. Safe to run on several replicas and to repeat.
    public let run: @Sendable (Instant) async throws -> Int

    /// Declares a job.
    public init(_ name: String, every interval: Duration, run: @escaping @Sendable (Instant) async throws -> Int) {
        self.name = name
        self.interval = interval
        self.run = run
    }
}
