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
    let names: ReservedNames
    let mutations: Mutations

    /// Changes of an account after which its zone changes no more.
    private static let mostChanges = 50_000

    func handle(_ request: UpdateMeRequest, _ context: CallContext) async throws -> Once<Me> {
        let user = try context.requireUser()
        do {
            return try await mutations.once(context, request) { work in
                try await writer.change(user, work) { account in
                    let form = try Self.form(request, names, present: account)
                    if let username = request.username, username != account.username {
                        try Self.requireChangeable(account, now: work.now)
                        account.username = username
                        account.usernameChangedAt = work.now
                    }
                    if let name = form.displayName { account.displayName = name }
                    if let zone = form.zone, zone.name != account.timeZone {
                        try Self.requireFew(account)
                        account.timeZone = zone.name
                        account.timeZoneSince = work.now
                    }
                    if let locale = form.locale { account.locale = locale }
                    if let hour = request.windowStartHour { account.windowStartHour = hour }
                }
                guard let me = try await accounts.me(user, now: work.now, on: work.sql) else { throw ServiceError.sessionRevoked }
                return me
            }
        } catch let error as DatabaseError where error.isUniqueViolation("account_username") {
            throw ServiceError.usernameTaken
        }
    }

    func problems(of request: UpdateMeRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.form(request, nil) }
    }

    private static func form(_ request: UpdateMeRequest, _ names: ReservedNames?, present: Account? = nil) throws -> ProfileForm {
        try ProfileForm(
            username: request.username,
            displayName: request.displayName,
            timeZone: request.timeZone,
            timezoneOffset: request.timezoneOffset,
            locale: request.locale,
            names,
            present: present
        )
    }

    /// Streaks keeps every change of the zone: each is a fact of the ledgers. The version counts the changes of an account, so these are fewer.
    private static func requireFew(_ account: Account) throws(ServiceError) {
        guard account.version < mostChanges else {
            throw .quotaExceeded("changes of your profile", most: mostChanges, remedy: "The time zone stays as it is.")
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
