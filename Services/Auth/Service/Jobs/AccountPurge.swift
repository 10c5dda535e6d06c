internal import AuthAPI
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// AU-7: 30 days after the deletion everything personal goes. The last profile says no more than that there was a user.
struct AccountPurge: Sendable {
    let lifecycle: LifecycleRepository
    let eraser: PersonalDataEraser
    let work: UnitOfWorkFactory

    var job: Job { Job("account_purge", every: .seconds(60)) { _ in try await purgeDue() } }

    private func purgeDue() async throws -> Int {
        try await work.run(trace: "", requestID: "") { [lifecycle, eraser] work in
            let due = try await lifecycle.lockPurgeable(now: work.now, limit: 50, work.sql)
            for (user, version) in due {
                try await eraser.erase(user, work)
                let last = ProfileState(
                    userID: user.description,
                    version: version + 1,
                    timeZone: Zone.utc.name,
                    status: .deleted,
                    timeZoneSince: work.now
                )
                try await work.emit(ProfileChanged(userID: user.description, profile: last))
                try await work.emit(AccountPurged(userID: user.description, purgedAt: work.now))
            }
            return due.count
        }
    }
}
