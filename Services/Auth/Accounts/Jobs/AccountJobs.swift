internal import AuthDomain
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// What becomes of accounts with time, in batches that replicas share (D7).
struct AccountJobs: Sendable {
    let lifecycle: AccountLifecycle
    let work: UnitOfWorkFactory

    var all: [Job] {
        [Job("suspension_ends", every: .seconds(5)) { _ in try await endSuspensions() }]
    }

    /// SO-9: a suspension lifts itself; a ban stays.
    private func endSuspensions() async throws -> Int {
        try await work.run(trace: "", requestID: "") { work in
            let due = try await lifecycle.repository.lockEndedSuspensions(now: work.now, limit: 100, work.sql)
            for user in due {
                guard var life = try await lifecycle.repository.lock(user, work.sql) else { continue }
                life.liftSuspension(now: work.now)
                try await lifecycle.change(user, to: life, signOut: false, work)
            }
            return due.count
        }
    }
}
