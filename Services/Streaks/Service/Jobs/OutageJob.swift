internal import Kernel
internal import Outbox
internal import Runtime

/// Carries out what operators declare (SD-7): makes it part of every ledger, then looks at the streaks it touches, so that breaks are
/// undone and told. Ledgers that are loaded meanwhile know it already.
struct OutageJob: Sendable {
    private static let batch = 100
    /// The clocks of replicas differ a little: nobody's may be past the instant of the declaration without having seen it.
    private static let margin = Interval.seconds(2)

    let keeper: StreakKeeper
    let work: UnitOfWorkFactory
    let clock: any Clock

    var job: Job {
        Job("outages", every: .seconds(1)) { now in try await declare() + (try await lookAtSome(now)) }
    }

    /// What waits becomes part of the ledgers. - Returns: how many outages.
    private func declare() async throws -> Int {
        guard try await OutageRepository.isAnyWaiting(keeper.streaks.database) else { return 0 }
        return try await work.run(trace: "", requestID: "") { [clock] work in
            try await OutageRepository.lockLedgers(work.sql)
            return try await OutageRepository.declareWaiting(at: clock.now() + Self.margin, work.sql)
        }
    }

    /// One batch, and where to go on, in one transaction: who is killed is followed by another. - Returns: 0 when nothing is left.
    private func lookAtSome(_ now: Instant) async throws -> Int {
        try await work.run(trace: "", requestID: "") { [keeper] work in
            guard var outage = try await OutageRepository.lockUnfinished(at: now, work.sql) else { return 0 }
            let page = try await OutageRepository.page(of: outage, limit: Self.batch, work.sql)
            try await keeper.settle(try await keeper.streaks.lock(page.touched, work.sql), totals: .soon, work)
            let isOver = page.reached == nil && outage.phase == .running
            if page.reached == nil, outage.phase == .broken { outage.phase = .running }
            outage.reached = page.reached
            try await OutageRepository.store(outage, looked: page.touched.count, finishedAt: isOver ? work.now : nil, work.sql)
            return max(page.touched.count, 1)
        }
    }
}
