internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksCore

/// Emits the totals of users whose streaks were settled, when no streak waits to be settled any more: breaks are emitted first.
struct TotalsJob: Sendable {
    let store: StreakStore
    let work: UnitOfWorkFactory

    var job: Job {
        // Lanes as the settlement has: its changes are emitted as fast as they were made.
        let oldest: @Sendable () async throws -> Instant? = { [store] in try await StatsRepository.oldestStale(store.database) }
        return Job("totals", every: .seconds(5), lanes: 2, oldestDue: oldest) { now in
            guard try await !store.isAnySettlementDue(at: now) else { return 0 }
            return try await emitStale()
        }
    }

    /// Those of some users. - Returns: how many users.
    func emitStale() async throws -> Int {
        try await work.run(trace: "", requestID: "") { work in
            let users = try await StatsRepository.deleteStale(work.sql)
            try await work.emit(try await StatsRepository.refresh(users, work.sql))
            return users.count
        }
    }
}
