internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import Outbox

extension AuthService {
    /// AU-7. Somebody may have taken the e-mail, which refuses the restoration, or the username, which is replaced.
    func restoreAccount(_ request: RestoreAccountRequest, context: CallContext) async throws -> RestoreAccountReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        guard let name = try await accounts.find(user)?.username else { throw ServiceError.notFound("account") }
        var attempt = 0
        while true {
            do {
                return try await restore(user, request, name, attempt: attempt, context)
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
        _ user: UserID,
        _ request: RestoreAccountRequest,
        _ oldName: String,
        attempt: Int,
        _ context: CallContext
    ) async throws -> RestoreAccountReply {
        try await mutations.run(context, request) { [self] work in
            guard var life = try await lifecycle.lock(user, work.sql) else { throw ServiceError.notFound("account") }
            try life.restore(now: work.now)
            let salt: OperationID = work.ids.make()
            let name = attempt == 0 ? nil : Username.proposal(email: oldName, attempt: attempt, salt: salt.low)
            let account = try await change(user, to: life, username: name, signOut: false, work)
            try await work.emit(AccountRestored(userID: user.description, restoredAt: work.now))
            return RestoreAccountReply(
                userID: user.description,
                username: account.username,
                usernameChanged: name != nil,
                status: account.status,
                restoredAt: work.now
            )
        }
    }
}
