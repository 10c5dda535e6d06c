internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Cryptography
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// Applies a notification of Apple's servers (AU-5). Once its signature is valid the answer is success, whatever it is about: Apple repeats
/// what fails. A repeat is recognised by the notification's id, since Apple sends no idempotency key.
struct AppleNotification: MutationHandler {
    let apple: AppleVerifier
    let appleUsers: AppleRepository
    let accounts: AccountRepository
    let lifecycle: AccountLifecycle
    let revocations: RevocationPublisher
    let mutations: Mutations

    func handle(_ request: AppleNotificationRequest, _ context: CallContext) async throws -> Once<AppleNotificationReply> {
        let claims = try await apple.notification(request.payload)
        let id = claims.jti ?? SHA256.hash(data: request.payload.utf8).map { String($0) }.joined(separator: ".")
        let change = { @Sendable (work: UnitOfWork) in
            let isNew = try await appleUsers.insert(
                notification: id,
                kind: claims.events.event.type,
                now: work.now,
                work.sql
            )
            guard isNew else { return AppleNotificationReply(applied: false) }
            return AppleNotificationReply(applied: try await apply(claims, work))
        }
        let reply: Once<AppleNotificationReply>
        if let account = try await appleUsers.account(of: claims.events.event.sub) {
            reply = try await mutations.once(context, request, protecting: account, change)
        } else {
            reply = try await mutations.once(context, request, change)
        }
        try await revocations.publishDue()
        return reply
    }

    /// - Returns: whether it changed anything.
    private func apply(_ claims: AppleServerClaims, _ work: UnitOfWork) async throws -> Bool {
        let event = claims.events.event
        // The account before what belongs to it.
        guard let account = try await appleUsers.account(of: event.sub, work.sql),
            let stored = try await accounts.lock(account, work.sql),
            let user = try await appleUsers.lock(event.sub, work.sql)
        else { return false }
        switch event.type {
        case "consent-revoked":
            // It may come late, after the user has signed in anew: that consent stands.
            guard !user.isRevoked, (claims.happenedAt ?? work.now) >= user.consentedAt - .minutes(1) else { return false }
            try await endAppleUse(event.sub, of: account, work)
        case "account-delete", "account-deleted":
            try await endAppleUse(event.sub, of: account, work)
            // No one can sign in with this Apple user any more, so an account that has no password is deleted with it (AU-7); what becomes
            // of one that has, or had before it was linked, is its owner's choice: a mail gives it a new password.
            if stored.passwordHash == nil, !user.isLinked { try await lifecycle.delete(account, work) }
        case "email-disabled": try await appleUsers.setForwardsMail(event.sub, false, work.sql)
        case "email-enabled": try await appleUsers.setForwardsMail(event.sub, true, work.sql)
        default: return false
        }
        return true
    }

    /// The Apple user cannot sign in until the next consent, and all sessions end.
    private func endAppleUse(_ subject: String, of account: UserID, _ work: UnitOfWork) async throws {
        try await appleUsers.revoke(subject, now: work.now, work.sql)
        try await lifecycle.ender.endAll(of: account, work)
    }
}
