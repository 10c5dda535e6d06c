internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel
internal import Passwords

/// Makes sure that a caller is the owner of the account: a stolen access token must not be enough for what cannot be undone.
struct OwnerProof: Sendable {
    let loginFailures: LoginFailureRepository
    let passwords: PasswordHasher
    let apple: AppleVerifier
    let appleUsers: AppleRepository
    let clock: any Clock

    /// The password, or of an account without one a recent token of its Apple user.
    ///
    /// - Throws: `VALIDATION_ERROR`, `WRONG_PASSWORD`, `APPLE_TOKEN_REQUIRED`, `WRONG_APPLE_USER`, `RATE_LIMITED`, and what Apple's verifier
    ///   throws.
    func require(_ evidence: some OwnerEvidence, of account: Account, _ context: CallContext) async throws {
        guard let hash = account.passwordHash else { return try await requireAppleUser(of: account, evidence) }
        guard let password = evidence.password, !password.isEmpty else {
            throw ServiceError.validation(field: "password", "is required")
        }
        try await require(password, matching: hash, of: account, field: "password", context)
    }

    /// The password. A wrong guess counts here as in a login (AU-12).
    ///
    /// - Throws: `WRONG_PASSWORD`, `RATE_LIMITED`.
    func require(
        _ password: String,
        matching hash: String,
        of account: Account,
        field: String,
        _ context: CallContext
    ) async throws {
        let keys = try await loginFailures.keys(
            emailKey: AccountRepository.key(ofEmail: account.email),
            address: context.clientAddress,
            now: clock.now()
        )
        try await loginFailures.requireRoom(keys, now: clock.now())
        guard try await passwords.verify(password, against: hash, for: context.hashRequester(.signIn)) else {
            try await loginFailures.record(keys, now: clock.now())
            throw ServiceError.wrongPassword(field: field)
        }
    }

    /// An account without a password is one of Apple's; its identity token, which lives for minutes, is the proof (AU-5).
    private func requireAppleUser(of account: Account, _ evidence: some OwnerEvidence) async throws {
        guard let token = evidence.appleIdentityToken, !token.isEmpty else { throw Self.appleTokenRequired("is required") }
        let identity = try await apple.identity(token, nonce: evidence.appleNonce)
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
            "Sign in with Apple again to prove that the account is yours.",
            details: [.init(field: "apple_identity_token", message: problem)]
        )
    }
}

/// What a caller proves to be the owner with: fields of a request.
protocol OwnerEvidence: Sendable {
    var password: String? { get }
    var appleIdentityToken: String? { get }
    var appleNonce: String? { get }
}

extension ChangeEmailRequest: OwnerEvidence {}
extension DeleteAccountRequest: OwnerEvidence {}

extension ServiceError {
    static func wrongPassword(field: String) -> ServiceError {
        ServiceError(
            .permissionDenied,
            "WRONG_PASSWORD",
            "The password is wrong.",
            details: [.init(field: field, message: "is wrong")]
        )
    }
}

extension CallContext {
    /// For whom a password of this call is hashed.
    func hashRequester(_ purpose: HashRequester.Purpose) -> HashRequester {
        HashRequester(purpose, address: clientAddress, deadline: deadline)
    }
}
