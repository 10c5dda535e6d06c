internal import Kernel
internal import Logging
internal import Outbox
internal import Runtime
private import Synchronization

/// Settles dates that are over (SD-4), a minute after they are, in batches that replicas share (D7). When nothing is due any more it
/// tells the totals of the people concerned.
///
/// A batch that fails is taken in smaller ones until the streak that it fails for is alone; that one waits, and the others go on.
struct SettlementJob: Sendable {
    /// A request for a streak of a batch waits until the batch is through: some 100 ms.
    static let mostAtOnce = 500
    /// A snap on its way at midnight should find its date open.
    private static let wait = Interval.seconds(60)
    /// How long a streak that cannot be settled waits before it is tried again.
    static let postponement = Interval.minutes(10)

    let keeper: StreakKeeper
    let work: UnitOfWorkFactory
    let logger: Logger
    let metrics: Metrics
    private let size: BatchSize

    init(keeper: StreakKeeper, work: UnitOfWorkFactory, logger: Logger, metrics: Metrics, mostAtOnce: Int = Self.mostAtOnce) {
        (self.keeper, self.work, self.logger, self.metrics) = (keeper, work, logger, metrics)
        size = BatchSize(most: mostAtOnce)
    }

    var job: Job {
        Job("settlement", every: .seconds(5), lanes: 2, oldestDue: { [self] in try await oldestDue() }) { [self] now in
            let settled = try await settle(at: now)
            return settled > 0 ? settled : try await tellTotals()
        }
    }

    /// One batch. - Returns: how many streaks were dealt with.
    func settle(at now: Instant) async throws -> Int {
        while true {
            let limit = size.present
            do {
                let count = try await settle(dueAt: now - Self.wait, limit: limit)
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

    private func settle(dueAt instant: Instant, limit: Int) async throws -> Int {
        try await work.run(trace: "", requestID: "") { [keeper] work in
            let due = try await keeper.streaks.lockDue(at: instant, limit: limit, work.sql)
            do {
                try await keeper.settle(due, totals: .soon, work)
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
        try await keeper.streaks.postpone(streak, until: now + Self.postponement)
    }

    /// The totals of some people whose streaks were settled. - Returns: how many people.
    func tellTotals() async throws -> Int {
        try await work.run(trace: "", requestID: "") { [keeper] work in
            let people = try await StatsRepository.takeStale(work.sql)
            try await keeper.refreshStats(people, work)
            return people.count
        }
    }

    private func oldestDue() async throws -> Instant? {
        let streak = try await keeper.streaks.oldestDue().map { $0 + Self.wait }
        let totals = try await StatsRepository.oldestStale(keeper.streaks.database)
        return [streak, totals].compactMap { $0 }.min()
    }
}

/// How many streaks are taken at once: as many as may be, fewer after a failure.
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
