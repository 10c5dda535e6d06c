internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import ServiceRuntime

/// Removes the caller's second factor, who proves to own the account and to have the factor. All sessions end: what they may do has changed.
struct RemoveSecondFactor: MutationHandler {
    let accounts: AccountRepository
    let owner: OwnerProof
    let factors: SecondFactors
    let ender: SessionEnder
    let revocations: RevocationPublisher
    let mutations: Mutations

    func handle(_ request: RemoveSecondFactorRequest, _ context: CallContext) async throws -> Once<RemoveSecondFactorReply> {
        let user = try context.requireUser()
        let reply = try await mutations.alone(context, request) { try await remove(request, of: user, context) }
        try await revocations.publish(of: user)
        return reply
    }

    private func remove(_ request: RemoveSecondFactorRequest, of user: UserID, _ context: CallContext) async throws
        -> Once<RemoveSecondFactorReply>
    {
        guard let account = try await accounts.find(user), account.status == .active else { throw ServiceError.sessionRevoked }
        do { try await owner.require(request, of: account, context) } catch let error as ServiceError
            where error.code == .invalidArgument
        {
            // What is missing matters only to who has a factor.
            let state = try await factors.repository.state(of: user, factors.repository.database)
            throw state?.enrolledAt == nil ? ServiceError.secondFactorNotEnrolled : error
        }
        return try await factors.counting(request.code, context) { proof in
            try await mutations.once(context, request) { work in
                try await factors.takeBack(proof, work)
                guard let account = try await accounts.lock(user, work.sql), account.status == .active else {
                    throw ServiceError.sessionRevoked
                }
                guard try await factors.repository.lock(user, work.sql)?.secret != nil else {
                    throw ServiceError.secondFactorNotEnrolled
                }
                try await factors.require(proof, of: account, removing: true, work)
                _ = try await SecondFactorRepository.delete(user, work.sql)
                try await AdminLog.note(.removeSecondFactor, of: user, by: user, "", context, work)
                try await factors.mails.inform(account, .secondFactorRemoved, work)
                return RemoveSecondFactorReply(sessionsEnded: Int32(try await ender.endAll(of: user, work)))
            }
        }
    }
}

extension RemoveSecondFactorRequest: OwnerEvidence {}
