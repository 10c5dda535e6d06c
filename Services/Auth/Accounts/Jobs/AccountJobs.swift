internal import AuthAPI
internal import AuthDomain
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// What becomes of accounts with time, in batches that replicas share (D7).
struct AccountJobs: Sendable {
    let lifecycle: AccountLifecycle
    let work: UnitOfWorkFactory

    var all: [Job] {
        [
            Job("suspension_ends", every: .seconds(5)) { _ in try await endSuspensions() },
            Job("account_purge", every: .seconds(60)) { _ in try await purgeAccounts() },
        ]
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

    /// AU-7: 30 days after the deletion everything personal is deleted. The last profile holds nothing but the id.
    private func purgeAccounts() async throws -> Int {
        try await work.run(trace: "", requestID: "") { work in
            let due = try await lifecycle.repository.lockPurgeable(now: work.now, limit: 50, work.sql)
            guard !due.isEmpty else { return 0 }
            try await lifecycle.repository.purge(due.map(\.0), now: work.now, work.sql)
            for (user, version) in due {
                try await Mutations.forget(caller: user, work.sql)
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
