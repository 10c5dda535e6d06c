internal import Database
internal import Kernel
internal import ServiceRuntime

/// Deletes answers and devices that are older than what is remembered (HA-7).
struct SyncPurge: Sendable {
    let database: Database

    var jobs: [Job] {
        [
            Job("habit_sync_answers", every: .seconds(600)) { now in
                try await SyncRepository.deleteAnswers(before: now - SyncProtocol.remembered, limit: 1_000, database)
            },
            Job("habit_sync_devices", every: .seconds(600)) { now in
                try await SyncRepository.deleteDevices(before: now - SyncProtocol.remembered, limit: 1_000, database)
            },
        ]
    }
}
