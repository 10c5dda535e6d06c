internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// Carries out what operators declare (SD-7): makes it part of every ledger, then settles the streaks it touches, so that breaks are
/// undone and the events emitted. Ledgers that are loaded meanwhile have it already.
struct OutageJob: Sendable {
    private static let batch = 100
    /// The clocks of replicas differ a little: none may be past the instant of the declaration without having seen it.
    private static let margin = Interval.seconds(2)

    let writer: StreakWriter
    let work: UnitOfWorkFactory
    let clock: any Clock

    var job: Job {
        Job("outages", every: .seconds(2)) { now in try await declare() + (try await settleSome(now)) }
    }

    /// What waits becomes part of the ledgers. - Returns: how many outages.
    private func declare() async throws -> Int {
        guard try await OutageRepository.isAnyWaiting(writer.store.database) else { return 0 }
        return try await work.run(trace: "", requestID: "") { [clock] work in
            try await OutageRepository.lockLedgers(work.sql)
            return try await OutageRepository.declareWaiting(at: clock.now() + Self.margin, work.sql)
        }
    }

    /// One batch and the place where the next begins, in one transaction: after a kill another replica continues there. - Returns: 0 when none is left.
    private func settleSome(_ now: Instant) async throws -> Int {
        try await work.run(trace: "", requestID: "") { [writer] work in
            guard var outage = try await OutageRepository.lockUnfinished(at: now, work.sql) else { return 0 }
            let page = try await OutageRepository.page(of: outage, limit: Self.batch, work.sql)
            // What became of the dates of habits is stored, also where nothing was at stake: it is made again when it is read.
            try HabitDays.setStale(after: outage.reached, through: page.reached, since: outage.from, work.sql)
            try await writer.settle(try await writer.store.lock(page.touched, work.sql), urgency: .soon, work)
            outage.reached = page.reached ?? outage.reached
            let finishedAt = page.reached == nil ? work.now : nil
            try await OutageRepository.store(outage, settled: page.touched.count, finishedAt: finishedAt, work.sql)
            return max(page.touched.count, 1)
        }
    }
}
