internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// Brings a deleted account back (AU-7). If another account has its e-mail by now, it is refused; a username in use is replaced.
struct RestoreAccount: MutationHandler {
    let accounts: AccountRepository
    let lifecycle: AccountLifecycle
    let mutations: Mutations

    func handle(_ request: RestoreAccountRequest, _ context: CallContext) async throws -> Once<RestoreAccountReply> {
        let admin = try context.requireAdmin()
        guard let name = try await accounts.find(request.userID)?.username else { throw ServiceError.notFound("account") }
        var attempt = 0
        while true {
            do {
                return try await restore(request, name, by: admin, attempt: attempt, context)
            } catch let error as DatabaseError where error.isUniqueViolation("account_email_key") {
                throw ServiceError(
                    .alreadyExists,
                    "EMAIL_TAKEN",
                    "The e-mail of this account belongs to another one by now.",
                    details: [.init(field: "email", message: "is taken")]
                )
            } catch let error as DatabaseError where error.isUniqueViolation("account_username") && attempt < 8 {
                attempt += 1
            }
        }
    }

    private func restore(
        _ request: RestoreAccountRequest,
        _ oldName: String,
        by admin: UserID,
        attempt: Int,
        _ context: CallContext
    ) async throws -> Once<RestoreAccountReply> {
        let user = request.userID
        return try await mutations.once(context, request) { work in
            guard var life = try await lifecycle.repository.lock(user, work.sql) else { throw ServiceError.notFound("account") }
            try life.restore(now: work.now)
            try await AdminLog.note(.restoreAccount, of: user, by: admin, "", context, work)
            let salt: OperationID = work.ids.make()
            let name = attempt == 0 ? nil : Username.proposal(email: oldName, attempt: attempt, salt: salt.low)
            let account = try await lifecycle.change(user, to: life, username: name, signOut: false, work)
            try await lifecycle.mails.inform(account, .deletionUndone, work)
            try await work.emit(AccountRestored(userID: user, restoredAt: work.now))
            return RestoreAccountReply(
                userID: user,
                username: account.username,
                usernameChanged: name != nil,
                status: account.status,
                restoredAt: work.now
            )
        }
    }
}
