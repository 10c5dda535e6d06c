internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// Deletes the account of the caller, who proves to be its owner (AU-7). One transaction: unusable, signed out everywhere, e-mail and
/// username free for others, emitted to every service. The reply comes when the others have hidden the user.
struct DeleteAccount: MutationHandler {
    let accounts: AccountRepository
    let lifecycle: AccountLifecycle
    let owner: OwnerProof
    let revocations: RevocationPublisher
    let mutations: Mutations

    func handle(_ request: DeleteAccountRequest, _ context: CallContext) async throws -> Once<DeleteAccountReply> {
        let user = try context.requireUser()
        guard let account = try await accounts.find(user) else { throw ServiceError.notFound("account") }
        let evidence = OwnerProof.Evidence(
            password: request.password,
            appleToken: request.appleIdentityToken,
            appleNonce: request.appleNonce
        )
        try await owner.require(evidence, of: account, context)
        let reply = try await mutations.once(context, request, protecting: user) { work in
            DeleteAccountReply(purgeAt: try await lifecycle.delete(user, work))
        }
        try await revocations.publish(of: user)
        return reply
    }
}
