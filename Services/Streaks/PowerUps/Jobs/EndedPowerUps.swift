internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// Ends power-ups whose time is over, found by the index on `due_at` (D7).
struct EndedPowerUps: Sendable {
    let uses: PowerUpUses
    let work: UnitOfWorkFactory
    let database: Database

    var job: Job {
        Job("ended_power_ups", every: .seconds(5), oldestDue: { try await PowerUpRepository.oldestDue(database) }) { _ in
            try await work.run(trace: "", requestID: "ended power-ups") { work in try await uses.endDue(limit: 100, work) }
        }
    }
}
