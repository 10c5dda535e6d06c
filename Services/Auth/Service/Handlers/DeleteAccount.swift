internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime

extension AuthService {
    /// AU-7. One transaction: unusable, signed out everywhere, e-mail and username free for others, everybody told.
    func deleteAccount(_ request: DeleteAccountRequest, context: CallContext) async throws -> DeleteAccountReply {
        let user = try context.requireUser()
        guard let account = try await accounts.find(user) else { throw ServiceError.notFound("account") }
        try await requireOwner(of: account, request, context)
        return try await mutations.run(context, request) { [self] work in
            DeleteAccountReply(purgeAt: try await delete(user, work))
        }
    }

    /// Deletes an account, once. - Returns: when it is removed for good.
    func delete(_ user: UserID, _ work: UnitOfWork) async throws -> Instant {
        guard var life = try await lifecycle.lock(user, work.sql) else { throw ServiceError.notFound("account") }
        let isFirst = life.deletedAt == nil
        life.delete(at: work.now)
        guard let purgeAt = life.purgeAt else { throw ServiceError.internal }
        if isFirst {
            try await Mutations.forget(caller: user, work.sql)
            try await change(user, to: life, signOut: true, work)
            try await work.emit(AccountDeleted(userID: user.description, deletedAt: work.now, purgeAt: purgeAt))
        }
        return purgeAt
    }

    /// Whoever holds a stolen access token must not be able to delete the account: its password is asked for again.
    private func requireOwner(of account: Account, _ request: DeleteAccountRequest, _ context: CallContext) async throws {
        guard let hash = account.passwordHash else { return try await requireAppleUser(of: account, request) }
        guard let password = request.password, !password.isEmpty else {
            throw ServiceError.validation(field: "password", "is required")
        }
        // Guessing here counts like guessing at the door (AU-12).
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
                details: [.init(field: "apple_identity_token", message: "is somebody else's")]
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

    /// Stores the life of a locked account and tells what follows from it.
    @discardableResult
    func change(
        _ user: UserID,
        to life: AccountLife,
        username: String? = nil,
        signOut: Bool,
        _ work: UnitOfWork
    ) async throws -> Account {
        let account = try await lifecycle.store(life, of: user, username: username, now: work.now, work.sql)
        if signOut { try await endSessions(of: user, work) }
        try await work.emit(ProfileChanged(userID: user.description, profile: account.profileState))
        return account
    }

    /// Suspended, banned and deleted accounts cannot sign in; the answer says when that ends (SO-9, AU-7). Nobody changes that until the
    /// transaction ends.
    func requireUsable(_ id: UserID, _ work: UnitOfWork) async throws {
        guard let life = try await lifecycle.hold(id, work.sql) else { throw ServiceError.notFound("account") }
        if let refusal = life.refusal { throw refusal }
    }
}
