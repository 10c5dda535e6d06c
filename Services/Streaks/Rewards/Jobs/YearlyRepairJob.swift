internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksCore
internal import StreaksDomain

/// Gives who has reached 100 a free repair each year (CI-5): a credit in the stock, which the next repair uses first.
struct YearlyRepairJob: Sendable {
    private static let batch = 100

    let database: Database
    let work: UnitOfWorkFactory

    var job: Job {
        Job(
            "yearly_repairs",
            every: .seconds(60),
            oldestDue: { [database] in try await YearlyRepairRepository.oldestDue(database) }
        ) { [self] now in
            try await work.run(trace: "", requestID: "") { work in try await give(dueAt: now, work) }
        }
    }

    /// Handles one batch. - Returns: how many.
    func give(dueAt now: Instant, limit: Int = batch, _ work: UnitOfWork) async throws -> Int {
        let users = try await YearlyRepairRepository.lockDue(at: now, limit: limit, work.sql)
        guard !users.isEmpty else { return 0 }
        for user in users.sorted() { try await GoodsStock.give(.repair, to: user, work.sql) }
        try await YearlyRepairRepository.note(users, at: now, work.sql)
        return users.count
    }
}
