internal import Kernel
internal import Logging
internal import Outbox
internal import Runtime
internal import ServiceRuntime
internal import StreaksDomain
private import Synchronization

/// Settles dates that are over (SD-4), a minute after they are, in batches that replicas share (D7): the streaks of the kinds whose feature
/// the replica runs. It waits for facts of other services that are on their way (`KnownFacts`).
///
/// A batch that fails is done in smaller ones until the streak that it fails for is alone; that one waits, and the others are settled.
struct SettlementJob: Sendable {
    /// A request for a streak of a batch waits until the batch is through: some 100 ms.
    static let mostAtOnce = 500
    /// A snap on its way at midnight should find its date open.
    static let wait = Interval.seconds(60)
    /// How long a streak that cannot be settled waits before it is tried again.
    static let postponement = Interval.minutes(10)

    let kinds: [StreakKind]
    let writer: StreakWriter
    let work: UnitOfWorkFactory
    /// nil: nothing is waited for.
    let facts: KnownFacts?
    let logger: Logger
    let metrics: Metrics
    private let size: BatchSize

    init(
        kinds: [StreakKind],
        writer: StreakWriter,
        work: UnitOfWorkFactory,
        facts: KnownFacts? = nil,
        logger: Logger,
        metrics: Metrics,
        mostAtOnce: Int = Self.mostAtOnce
    ) {
        (self.kinds, self.writer, self.work, self.facts) = (kinds, writer, work, facts)
        (self.logger, self.metrics) = (logger, metrics)
        size = BatchSize(most: mostAtOnce)
    }

    var job: Job {
        Job("settlement", every: .seconds(5), lanes: 3, oldestDue: { [self] in try await oldestDue() }) { [self] now in
            try await settle(at: now)
        }
    }

    /// One batch. - Returns: how many streaks were settled or postponed.
    func settle(at now: Instant) async throws -> Int {
        var due = now - Self.wait
        if let facts {
            guard let oldest = try await StreakRepository.oldestDue(kinds, writer.store.database), oldest <= due else { return 0 }
            due = min(due, await facts.through(now, atLeast: due))
        }
        for kind in kinds {
            let count = try await settle(kind, dueAt: due, at: now)
            if count > 0 { return count }
        }
        return 0
    }

    private func settle(_ kind: StreakKind, dueAt due: Instant, at now: Instant) async throws -> Int {
        while true {
            let limit = size.present
            do {
                let count = try await settle(kind, dueAt: due, limit: limit)
                size.grow(from: limit)
                return count
            } catch let failure as Unsettled {
                guard !failure.isPassing else { throw failure.cause }
                guard failure.streaks.count == 1, let streak = failure.streaks.first else {
                    size.shrink(below: failure.streaks.count)
                    continue
                }
                try await postpone(streak, failure.cause, at: now)
                return 1
            }
        }
    }

    private func settle(_ kind: StreakKind, dueAt instant: Instant, limit: Int) async throws -> Int {
        try await work.run(trace: "", requestID: "") { [writer] work in
            let due = try await writer.store.lockDue(kind, at: instant, limit: limit, work.sql)
            do {
                try await writer.settle(due, urgency: .soon, work)
                return due.count
            } catch {
                throw Unsettled(streaks: due.map(\.row.id), cause: error)
            }
        }
    }

    private func postpone(_ streak: StreakID, _ cause: any Error, at now: Instant) async throws {
        logger.error("a streak cannot be settled", metadata: ["streak": "\(streak)", "error": "\(cause)"])
        metrics.counter(
            "streaksnap_settlement_postponed_total",
            help: "Times that a streak could not be settled and was put off."
        )
        .increment()
        try await StreakRepository.postpone(streak, until: now + Self.postponement, writer.store.database)
    }

    private func oldestDue() async throws -> Instant? {
        try await StreakRepository.oldestDue(kinds, writer.store.database).map { $0 + Self.wait }
    }
}

/// How many streaks are settled at once: as many as may be, fewer after a failure.
private final class BatchSize: Sendable {
    let most: Int
    private let size: Mutex<Int>

    init(most: Int) {
        self.most = most
        size = Mutex(most)
    }

    var present: Int { size.withLock { $0 } }
    func grow(from limit: Int) { size.withLock { $0 = max($0, min(most, limit * 2)) } }
    func shrink(below count: Int) { size.withLock { $0 = max(1, min($0, count / 8)) } }
}
