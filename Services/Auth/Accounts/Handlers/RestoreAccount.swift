internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import CommonAPI
internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI

/// Brings a deleted account back (AU-7). If another account has its e-mail by now, it is refused; a username in use is replaced.
struct RestoreAccount: MutationHandler {
    let accounts: AccountRepository
    let lifecycle: AccountLifecycle
    let friends: FriendsClient
    let streaks: MutualClient
    let mutations: Mutations

    func handle(_ request: RestoreAccountRequest, _ context: CallContext) async throws -> Once<RestoreAccountReply> {
        let admin = try context.requireAdmin()
        guard let name = try await accounts.find(request.userID)?.username else { throw ServiceError.notFound("account") }
        let ended = try await endedByDeletion(of: request.userID, context)
        var attempt = 0
        while true {
            do {
                return try await restore(request, name, by: admin, attempt: attempt, ended, context)
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
        _ ended: EndedByDeletion?,
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
            try await lifecycle.mails.inform(account, .deletionUndone, ended: ended, work)
            try await work.emit(AccountRestored(userID: user, restoredAt: work.now, ended: ended))
            return RestoreAccountReply(
                userID: user,
                username: account.username,
                usernameChanged: name != nil,
                status: account.status,
                restoredAt: work.now,
                ended: ended
            )
        }
    }

    /// What ended with the deletion, as the services have noted that ended it. Nil while one of them does not answer or has not applied the
    /// deletion: that does not hold up a restoration.
    private func endedByDeletion(of user: UserID, _ context: CallContext) async throws -> EndedByDeletion? {
        guard let deletedAt = try await lifecycle.repository.find(user)?.deletedAt else { return nil }
        let asking = context.child(timeout: .seconds(2))
        let question = CountEndedTiesRequest(userID: user, deletedAt: deletedAt)
        guard let ties = try? await friends.countEndedTies(question, context: asking),
            let ran = try? await streaks.countEndedStreaks(CountEndedStreaksRequest(userID: user), context: asking),
            let friendships = ties.friendships, let circles = ties.circles, let mutual = ran.mutualStreaks
        else { return nil }
        return EndedByDeletion(friendships: friendships, circles: circles, mutualStreaks: mutual)
    }
}
