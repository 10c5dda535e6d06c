internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import Outbox

extension AuthService {
    /// AU-1. The hash is made before the transaction, so that a quarter of a second of CPU holds no connection.
    func register(_ request: RegisterRequest, context: CallContext) async throws -> SignInReply {
        if let reply: SignInReply = try await mutations.replay(context, request) { return reply }
        let chosenName = try request.displayName.map { try DisplayName.checked($0) }
        try Self.requireUnreserved(request.username)
        let zone = try Self.zone(name: request.timeZone, offsetMinutes: request.timezoneOffset) ?? .utc
        let hash = try await passwords.hash(request.password, for: context.hashRequester(.newPassword))
        return try await naming(request.username, after: request.email) { [self] username in
            try await mutations.run(context, request) { work in
                let account = Account(
                    id: work.ids.make(),
                    email: request.email,
                    passwordHash: hash,
                    username: username,
                    displayName: chosenName ?? DisplayName.fallback(email: request.email, username: username),
                    avatarKey: "",
                    timeZone: zone.name,
                    timeZoneSince: work.now,
                    isAdmin: false,
                    status: .active,
                    version: 1,
                    createdAt: work.now,
                    updatedAt: work.now
                )
                try await create(account, work)
                return try await signIn(account.id, work)
            }
        }
    }

    /// A new account, told to everybody.
    func create(_ account: Account, _ work: UnitOfWork) async throws {
        try await accounts.insert(account, work.sql)
        try await work.emit(ProfileChanged(userID: account.id.description, profile: account.profileState))
    }

    /// Runs a transaction that makes an account, with names made from `source` until one is free; with the wanted name only, if there is one.
    ///
    /// - Throws: `USERNAME_TAKEN`, `EMAIL_TAKEN`, and what `make` throws.
    func naming<Result: Sendable>(
        _ wanted: String?,
        after source: String,
        _ make: @Sendable (_ username: String) async throws -> Result
    ) async throws -> Result {
        var attempt = 0
        while true {
            do {
                return try await make(wanted ?? Username.proposal(email: source, attempt: attempt, salt: salt(attempt)))
            } catch let error as DatabaseError where error.isUniqueViolation("account_email_key") {
                throw Self.emailTaken
            } catch let error as DatabaseError where error.isUniqueViolation("account_username") {
                attempt += 1
                guard wanted == nil, attempt < 8 else { throw Self.usernameTaken }
            }
        }
    }

    /// - Throws: `VALIDATION_ERROR` for a username that nobody may choose.
    static func requireUnreserved(_ username: String?) throws(ServiceError) {
        guard let username, Username.isReserved(username) else { return }
        throw ServiceError.validation(field: "username", "is reserved")
    }

    static let emailTaken = ServiceError(
        .alreadyExists,
        "EMAIL_TAKEN",
        "An account with this e-mail exists already.",
        details: [.init(field: "email", message: "is taken")]
    )

    static let usernameTaken = ServiceError(
        .alreadyExists,
        "USERNAME_TAKEN",
        "This username is taken.",
        details: [.init(field: "username", message: "is taken")]
    )

    /// A number for the suffix of a name that is taken: the random half of a fresh id.
    private func salt(_ attempt: Int) -> UInt64 {
        guard attempt > 0 else { return 0 }
        let id: OperationID = ids.make()
        return id.low
    }

    /// AU-11: a name, or minutes from older clients; nil when neither was sent.
    static func zone(name: String?, offsetMinutes: Int32?) throws -> Zone? {
        if let name {
            guard let zone = Zone(name) else { throw ServiceError.validation(field: "time_zone", "must be an IANA time zone") }
            return zone
        }
        guard let offsetMinutes else { return nil }
        guard let zone = Zone(offsetMinutes: Int(offsetMinutes)) else {
            throw ServiceError.validation(field: "timezone_offset", "must be from -840 to 840")
        }
        return zone
    }
}
