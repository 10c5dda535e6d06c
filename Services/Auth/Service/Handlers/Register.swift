internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import Outbox

extension AuthService {
    /// AU-1. The hash is made before the transaction, so that a quarter of a second of CPU holds no connection.
    func register(_ request: RegisterRequest, context: CallContext) async throws -> SignInReply {
        let zone = try Self.zone(name: request.timeZone, offsetMinutes: request.timezoneOffset)
        let hash = try await passwords.hash(request.password)
        var attempt = 0
        while true {
            let username = request.username ?? Username.proposal(email: request.email, attempt: attempt, salt: salt(attempt))
            do {
                return try await register(request, username: username, passwordHash: hash, zone: zone, context)
            } catch let error as DatabaseError where error.isUniqueViolation("account_email_key") {
                throw ServiceError(
                    .alreadyExists,
                    "EMAIL_TAKEN",
                    "An account with this e-mail exists already.",
                    details: [.init(field: "email", message: "is taken")]
                )
            } catch let error as DatabaseError where error.isUniqueViolation("account_username") {
                attempt += 1
                guard request.username == nil, attempt < 8 else {
                    throw ServiceError(
                        .alreadyExists,
                        "USERNAME_TAKEN",
                        "This username is taken.",
                        details: [.init(field: "username", message: "is taken")]
                    )
                }
            }
        }
    }

    private func register(
        _ request: RegisterRequest,
        username: String,
        passwordHash: String,
        zone: Zone,
        _ context: CallContext
    ) async throws -> SignInReply {
        try await mutations.run(context, request) { [self] work in
            let account = Account(
                id: work.ids.make(),
                email: request.email,
                passwordHash: passwordHash,
                username: username,
                displayName: request.displayName ?? DisplayName.fallback(email: request.email),
                avatarKey: "",
                timeZone: zone.name,
                timeZoneSince: work.now,
                isAdmin: false,
                status: .active,
                termsVersion: nil,
                version: 1,
                createdAt: work.now,
                updatedAt: work.now
            )
            try await accounts.insert(account, work.sql)
            try await work.emit(ProfileChanged(userID: account.id.description, profile: account.profileState))
            return try await signIn(account, work)
        }
    }

    /// A number for the suffix of a name that is taken: the random half of a fresh id.
    private func salt(_ attempt: Int) -> UInt64 {
        guard attempt > 0 else { return 0 }
        let id: OperationID = ids.make()
        return id.low
    }

    /// AU-11: a name, or minutes from older clients; UTC when neither was sent.
    private static func zone(name: String?, offsetMinutes: Int32?) throws -> Zone {
        if let name {
            guard let zone = Zone(name) else { throw ServiceError.validation(field: "time_zone", "must be an IANA time zone") }
            return zone
        }
        guard let offsetMinutes else { return .utc }
        guard let zone = Zone(offsetMinutes: Int(offsetMinutes)) else {
            throw ServiceError.validation(field: "timezone_offset", "must be from -840 to 840")
        }
        return zone
    }
}
