internal import Kernel
internal import Outbox
internal import Runtime

/// Settles dates that are over (SD-4), a minute after they are, in batches that replicas share (D7).
struct SettlementJob: Sendable {
    private static let batch = 100
    /// A snap on its way at midnight should find its date open.
    private static let wait = Interval.seconds(60)

    let keeper: StreakKeeper
    let work: UnitOfWorkFactory

    var job: Job {
        Job(
            "settlement",
            every: .seconds(5),
            oldestDue: { [keeper] in try await keeper.streaks.oldestDue().map { $0 + Self.wait } }
        ) { now in
            try await work.run(trace: "", requestID: "") { [keeper] work in
                let due = try await keeper.streaks.lockDue(at: now - Self.wait, limit: Self.batch, work.sql)
                for stored in due { _ = try await keeper.settle(stored, work) }
                return due.count
            }
        }
    }
}
