internal import AuthAPI
internal import AuthCore
internal import BillingAPI
internal import Bus
internal import Kernel
internal import Passwords
internal import ServiceRuntime

/// Deletes the account of the caller, who proves to be its owner (AU-7). One transaction: unusable, signed out everywhere, e-mail and
/// username free for others, emitted to every service. The reply comes when the others have hidden the user.
struct DeleteAccount: MutationHandler {
    let accounts: AccountRepository
    let lifecycle: AccountLifecycle
    let loginFailures: LoginFailureRepository
    let passwords: PasswordHasher
    let apple: AppleVerifier
    let appleUsers: AppleRepository
    let revocations: RevocationPublisher
    let billing: BillingClient
    let mutations: Mutations
    let clock: any Clock

    func handle(_ request: DeleteAccountRequest, _ context: CallContext) async throws -> Once<DeleteAccountReply> {
        let user = try context.requireUser()
        guard let account = try await accounts.find(user) else { throw ServiceError.notFound("account") }
        try await requireOwner(of: account, request, context)
        let running = await runningSubscription(context)
        let reply = try await mutations.once(context, request, protecting: user) { work in
            DeleteAccountReply(purgeAt: try await lifecycle.delete(user, work), subscription: running)
        }
        try await revocations.publish(of: user)
        return reply
    }

    /// The subscription that goes on when the account is gone: only its store can cancel it. Nil also while billing does not answer: that does
    /// not hold up a deletion.
    private func runningSubscription(_ context: CallContext) async -> RunningSubscription? {
        let asking = context.child(timeout: .seconds(2))
        guard let plan = try? await billing.getEntitlements(GetEntitlementsRequest(), context: asking), plan.isPremium,
            let product = plan.productID
        else { return nil }
        return RunningSubscription(
            product: product,
            store: plan.store ?? "",
            expiresAt: plan.expiresAt,
            willRenew: plan.willRenew,
            manageURL: plan.manageURL
        )
    }

    /// A stolen access token must not be enough to delete the account: its password is asked for again.
    private func requireOwner(of account: Account, _ request: DeleteAccountRequest, _ context: CallContext) async throws {
        guard let hash = account.passwordHash else { return try await requireAppleUser(of: account, request) }
        guard let password = request.password, !password.isEmpty else {
            throw ServiceError.validation(field: "password", "is required")
        }
        // A wrong guess counts here as in a login (AU-12).
        let keys = LoginFailureRepository.Keys(
            emailKey: AccountRepository.key(ofEmail: account.email),
            address: context.clientAddress
        )
        try await loginFailures.requireRoom(keys, now: clock.now())
        guard try await passwords.verify(password, against: hash, for: context.hashRequester(.signIn)) else {
            try await loginFailures.record(keys, now: clock.now())
            throw ServiceError(
                .permissionDenied,
                "WRONG_PASSWORD",
                "The password is wrong.",
                details: [.init(field: "password", message: "is wrong")]
            )
        }
    }

    /// An account without a password is one of Apple's; its identity token, which lives for minutes, is the proof (AU-5).
    private func requireAppleUser(of account: Account, _ request: DeleteAccountRequest) async throws {
        guard let token = request.appleIdentityToken, !token.isEmpty else {
            throw Self.appleTokenRequired("is required")
        }
        let identity = try await apple.identity(token, nonce: request.appleNonce)
        guard identity.token.isRecent(at: clock.now()) else {
            throw Self.appleTokenRequired("must be at most 5 minutes old")
        }
        guard try await appleUsers.account(of: identity.token.subject) == account.id else {
            throw ServiceError(
                .permissionDenied,
                "WRONG_APPLE_USER",
                "This Apple user is not the owner of the account.",
                details: [.init(field: "apple_identity_token", message: "belongs to another Apple user")]
            )
        }
    }

    private static func appleTokenRequired(_ problem: String) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            "APPLE_TOKEN_REQUIRED",
            "Sign in with Apple again to delete this account.",
            details: [.init(field: "apple_identity_token", message: problem)]
        )
    }
}

extension CallContext {
    /// For whom a password of this call is hashed.
    func hashRequester(_ purpose: HashRequester.Purpose) -> HashRequester {
        HashRequester(purpose, address: clientAddress, deadline: deadline)
    }
}
