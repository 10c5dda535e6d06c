internal import AuthAPI
internal import AuthDomain
internal import Kernel
internal import Outbox
internal import ServiceRuntime

extension AuthService {
    /// What happens to accounts when its time has come, in batches that replicas share (D7).
    var accountJobs: [Job] {
        [
            Job("suspension_ends", every: .seconds(5)) { [self] _ in try await endSuspensions() }
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
}
