internal import AuthAPI
internal import Bus
internal import Crypto
internal import Kernel
internal import Outbox

extension AuthService {
    /// AU-5. Answered with success whatever it is about, once its signature is good: Apple repeats what is not.
    func appleNotification(_ request: AppleNotificationRequest, context: CallContext) async throws -> AppleNotificationReply {
        let told = try await apple.notification(request.payload)
        let event = told.events.event
        let id = told.jti ?? SHA256.hash(data: Array(request.payload.utf8)).map { String($0) }.joined(separator: ".")
        return try await mutations.work.run(context) { [self] work in
            guard try await appleUsers.take(notification: id, kind: event.type, now: work.now, work.sql),
                // The account before what belongs to it.
                let account = try await appleUsers.account(of: event.sub, work.sql),
                try await accounts.lock(account, work.sql) != nil,
                let user = try await appleUsers.lock(event.sub, work.sql)
            else { return AppleNotificationReply(applied: false) }
            switch event.type {
            case "consent-revoked":
                // Told late, after the user has signed in anew: that consent stands.
                guard !user.isRevoked, (told.happenedAt ?? work.now) >= user.consentedAt - .minutes(1) else {
                    return AppleNotificationReply(applied: false)
                }
                try await endAppleUse(event.sub, of: account, work)
            case "account-delete", "account-deleted":
                try await endAppleUse(event.sub, of: account, work)
                try await appleAccountDeleted(account, work)
            case "email-disabled": try await appleUsers.setForwardsMail(event.sub, false, work.sql)
            case "email-enabled": try await appleUsers.setForwardsMail(event.sub, true, work.sql)
            default: return AppleNotificationReply(applied: false)
            }
            return AppleNotificationReply(applied: true)
        }
    }

    /// The Apple user lets nobody in until the next consent, and everybody who is in is out.
    private func endAppleUse(_ subject: String, of account: UserID, _ work: UnitOfWork) async throws {
        try await appleUsers.revoke(subject, now: work.now, work.sql)
        try await endSessions(of: account, work)
    }

    /// The user has deleted the Apple Account itself. Nobody can sign in with it any more, so an account that has no password goes with it
    /// (AU-7); what becomes of one that has is its owner's choice.
    private func appleAccountDeleted(_ account: UserID, _ work: UnitOfWork) async throws {
        guard try await accounts.hold(account, work.sql)?.passwordHash == nil else { return }
        _ = try await delete(account, work)
    }
}
