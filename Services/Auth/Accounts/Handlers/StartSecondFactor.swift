internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// Makes a secret for an administrator's authenticator app, which counts when a code of it has come. A stolen access token is not enough: the
/// caller proves to own the account, and to have the second factor that is replaced.
struct StartSecondFactor: MutationHandler {
    let accounts: AccountRepository
    let owner: OwnerProof
    let factors: SecondFactors
    let mutations: Mutations

    func handle(_ request: StartSecondFactorRequest, _ context: CallContext) async throws -> Once<StartSecondFactorReply> {
        let user = try context.requireUser()
        return try await mutations.alone(context, request) { try await start(request, of: user, context) }
    }

    private func start(_ request: StartSecondFactorRequest, of user: UserID, _ context: CallContext) async throws
        -> Once<StartSecondFactorReply>
    {
        guard let account = try await accounts.find(user), account.status == .active else { throw ServiceError.sessionRevoked }
        // As the database has it: the token says only what the session may do now.
        guard account.isAdmin else { throw ServiceError.secondFactorAdminsOnly }
        try await owner.require(request, of: account, context)
        return try await factors.counting(request.code, context) { proof in
            try await mutations.once(context, request) { work in
                try await factors.takeBack(proof, work)
                guard let account = try await accounts.lock(user, work.sql), account.status == .active, account.isAdmin else {
                    throw ServiceError.sessionRevoked
                }
                try await factors.require(proof, of: account, work)
                let secret = factors.secrets.makeSecret()
                let until = work.now + SecondFactorRule.confirmation
                let sealed = try factors.secrets.seal(secret, of: user)
                try await factors.repository.store(pending: sealed, until: until, of: user, work.sql)
                let text = Base32.encode(secret)
                return StartSecondFactorReply(
                    secret: text,
                    otpauthURI: TimeBasedCode.uri(
                        secret: text,
                        account: account.email.isEmpty ? account.username : account.email
                    ),
                    expiresAt: until
                )
            }
        }
    }
}

extension StartSecondFactorRequest: OwnerEvidence {}
