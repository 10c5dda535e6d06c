internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import Outbox

extension AuthService {
    /// AU-10, AU-11. What is not sent stays; what is sent but no different changes nothing, and tells nobody.
    func updateMe(_ request: UpdateMeRequest, context: CallContext) async throws -> Me {
        let user = try context.requireUser()
        let zone = try Self.zone(name: request.timeZone, offsetMinutes: request.timezoneOffset)
        let displayName = try request.displayName.map { try DisplayName.checked($0) }
        do {
            return try await mutations.run(context, request) { [self] work in
                try await change(user, work) { account in
                    if let username = request.username, username != account.username {
                        try Self.requireUnreserved(username)
                        try Self.requireChangeable(account, now: work.now)
                        account.username = username
                        account.usernameChangedAt = work.now
                    }
                    if let displayName { account.displayName = displayName }
                    if let zone, zone.name != account.timeZone {
                        account.timeZone = zone.name
                        account.timeZoneSince = work.now
                    }
                    if let hour = request.windowStartHour { account.windowStartHour = hour }
                }
                guard let me = try await accounts.me(user, now: work.now, on: work.sql) else { throw Self.accountGone }
                return me
            }
        } catch let error as DatabaseError where error.isUniqueViolation("account_username") {
            throw Self.usernameTaken
        }
    }

    /// Changes an account under its lock and tells everybody, unless nothing is different.
    ///
    /// - Returns: the account as it is now.
    @discardableResult
    func change(
        _ user: UserID,
        _ work: UnitOfWork,
        _ body: @Sendable (inout Account) throws -> Void
    ) async throws -> Account {
        guard let before = try await accounts.lock(user, work.sql), before.status == .active else { throw Self.accountGone }
        var account = before
        try body(&account)
        guard account != before else { return before }
        guard let after = try await accounts.update(account, now: work.now, work.sql) else { throw Self.accountGone }
        try await work.emit(ProfileChanged(userID: user.description, profile: after.profileState))
        return after
    }

    private static func requireChangeable(_ account: Account, now: Instant) throws(ServiceError) {
        guard let next = Username.changeableAt(changedAt: account.usernameChangedAt, now: now) else { return }
        throw ServiceError(
            .failedPrecondition,
            "USERNAME_CHANGED_RECENTLY",
            "The username can be changed once in 14 days.",
            details: [.init(field: "username", message: "can be changed from \(next) on")],
            retryAfter: max(1, Int((next - now).seconds) + 1)
        )
    }
}
