internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import Outbox
internal import ServiceRuntime

/// Makes the new secret an administrator's second factor, by a code of it. Every other session ends: none of them has shown a code. So a session of
/// an account with a second factor has always shown one, and what a token allows follows from the account alone.
struct ConfirmSecondFactor: MutationHandler {
    let accounts: AccountRepository
    let factors: SecondFactors
    let ender: SessionEnder
    let revocations: RevocationPublisher
    let mutations: Mutations

    func handle(_ request: ConfirmSecondFactorRequest, _ context: CallContext) async throws -> Once<ConfirmSecondFactorReply> {
        let user = try context.requireUser()
        let reply = try await mutations.alone(context, request) {
            try await factors.counting(request.code, context) { proof in
                try await mutations.once(context, request) { work in
                    try await factors.takeBack(proof, work)
                    guard let account = try await accounts.lock(user, work.sql), account.status == .active else {
                        throw ServiceError.sessionRevoked
                    }
                    guard account.isAdmin else { throw ServiceError.secondFactorAdminsOnly }
                    return try await confirm(proof, of: account, context, work)
                }
            }
        }
        try await revocations.publish(of: user)
        return reply
    }

    private func confirm(
        _ proof: SecondFactors.Proof,
        of account: Account,
        _ context: CallContext,
        _ work: UnitOfWork
    ) async throws -> ConfirmSecondFactorReply {
        let user = account.id
        guard let row = try await factors.repository.lock(user, work.sql), let pending = row.pending, work.now < pending.until
        else { throw ServiceError.secondFactorNotStarted }
        try factors.requireCounted(proof, of: user)
        // Of a new secret no code was used.
        let step = try factors.acceptedStep(of: proof.typed, pending.secret, of: user, after: 0)
        let codes = factors.secrets.makeRecoveryCodes()
        try await factors.repository.confirm(
            step: step,
            codes: codes.compactMap { RecoveryCode.normalized($0) }.map { factors.secrets.hash($0) },
            of: user,
            now: work.now,
            work.sql
        )
        let detail = row.secret == nil ? "" : "instead of another one"
        try await AdminLog.note(.enrolSecondFactor, of: user, by: user, detail, context, work)
        try await factors.mails.inform(account, .secondFactorEnrolled, work)
        let ended = try await ender.endAll(of: user, except: context.principal?.sessionID, work)
        return ConfirmSecondFactorReply(recoveryCodes: codes, enrolledAt: work.now, sessionsEnded: Int32(ended))
    }
}
