internal import AuthAPI
internal import AuthCore
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// AU-7: 30 days after the deletion everything personal is erased. The last profile holds nothing but the id.
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
                let empty = ProfileState(
                    userID: user,
                    version: version + 1,
                    timeZone: Zone.utc.name,
                    status: .deleted,
                    timeZoneSince: work.now
                )
                try await work.emit(ProfileChanged(userID: user, profile: empty))
                try await work.emit(AccountPurged(userID: user, purgedAt: work.now))
            }
            return due.count
        }
    }
}
