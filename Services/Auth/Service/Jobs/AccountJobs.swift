internal import AuthAPI
internal import AuthDomain
internal import Kernel
internal import Outbox
internal import ServiceRuntime

extension AuthService {
    /// What happens to accounts when its time has come, in batches that replicas share (D7).
    var accountJobs: [Job] {
        [
            Job("suspension_ends", every: .seconds(5)) { [self] _ in try await endSuspensions() },
            Job("account_purge", every: .seconds(60)) { [self] _ in try await purgeAccounts() },
        ]
    }

    /// SO-9: a suspension lifts itself; a ban stays.
    private func endSuspensions() async throws -> Int {
        try await mutations.work.run(trace: "", requestID: "") { [self] work in
            let due = try await lifecycle.lockEndedSuspensions(now: work.now, limit: 100, work.sql)
            for user in due {
                guard var life = try await lifecycle.lock(user, work.sql) else { continue }
                life.liftSuspension(now: work.now)
                try await change(user, to: life, signOut: false, work)
            }
            return due.count
        }
    }

    /// AU-7: 30 days after the deletion everything personal goes. The last profile says nothing but that there was somebody.
    private func purgeAccounts() async throws -> Int {
        try await mutations.work.run(trace: "", requestID: "") { [self] work in
            let due = try await lifecycle.lockPurgeable(now: work.now, limit: 50, work.sql)
            guard !due.isEmpty else { return 0 }
            try await lifecycle.purge(due.map(\.0), now: work.now, work.sql)
            for (user, version) in due {
                try await Mutations.forget(caller: user, work.sql)
                let nobody = ProfileState(
                    userID: user.description,
                    version: version + 1,
                    timeZone: Zone.utc.name,
                    status: .deleted,
                    timeZoneSince: work.now
                )
                try await work.emit(ProfileChanged(userID: user.description, profile: nobody))
                try await work.emit(AccountPurged(userID: user.description, purgedAt: work.now))
            }
            return due.count
        }
    }
}
