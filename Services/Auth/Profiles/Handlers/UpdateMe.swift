internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import ServiceRuntime

/// Changes the fields that are sent (AU-10, AU-11). A value that is no different changes nothing and emits nothing.
struct UpdateMe: MutationHandler {
    let accounts: AccountRepository
    let writer: AccountWriter
    let mutations: Mutations

    func handle(_ request: UpdateMeRequest, _ context: CallContext) async throws -> Once<Me> {
        let user = try context.requireUser()
        let zone = try ProfileRules.zone(name: request.timeZone, offsetMinutes: request.timezoneOffset)
        let locale = try ProfileRules.locale(request.locale)
        let displayName = try request.displayName.map { try DisplayName.checked($0) }
        do {
            return try await mutations.once(context, request) { work in
                try await writer.change(user, work) { account in
                    if let username = request.username, username != account.username {
                        try ProfileRules.requireUnreserved(username)
                        try Self.requireChangeable(account, now: work.now)
                        account.username = username
                        account.usernameChangedAt = work.now
                    }
                    if let displayName { account.displayName = displayName }
                    if let zone, zone.name != account.timeZone {
                        account.timeZone = zone.name
                        account.timeZoneSince = work.now
                    }
                    if let locale { account.locale = locale }
                    if let hour = request.windowStartHour { account.windowStartHour = hour }
                }
                guard let me = try await accounts.me(user, now: work.now, on: work.sql) else { throw ServiceError.sessionRevoked }
                return me
            }
        } catch let error as DatabaseError where error.isUniqueViolation("account_username") {
            throw ServiceError.usernameTaken
        }
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
