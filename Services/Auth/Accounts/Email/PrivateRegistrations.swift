internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Logging
internal import NotificationsAPI
internal import Outbox
internal import ServiceRuntime

/// Registrations whose answer says nothing about the address (`auth.private-registration`): a request is kept, a job looks up the address and has
/// the mail sent, and the link in it makes the account. Until then there is none: neither a sign-in nor the username shows that the address was free.
struct PrivateRegistrations: Sendable {
    /// Time limit of one call.
    private static let timeout = Interval.seconds(5)

    let repository: RegistrationRepository
    let accounts: AccountRepository
    let writer: AccountWriter
    let naming: AccountNaming
    let names: ReservedNames
    let mails: AccountMails
    let links: MailLinks
    let notifications: MailClient
    let mutations: Mutations
    let ids: any IDSource
    let logger: Logger

    var jobs: [Job] {
        [
            // No request wakes it, as with new passwords: what it does differs from address to address.
            Job("registration_requests", every: .seconds(1)) { now in try await lookUpNext(now: now) },
            Job("old_registration_requests", every: .seconds(60)) { now in try await repository.purge(now: now) },
        ]
    }

    /// Keeps a registration. It does the same for each address.
    func keep(
        _ request: RegisterRequest,
        _ form: ProfileForm,
        email: String,
        passwordHash: String,
        _ work: UnitOfWork
    ) async throws {
        let id: EmailTokenID = work.ids.make()
        let registration = PendingRegistration(
            id: id,
            account: work.ids.make(),
            email: email,
            passwordHash: passwordHash,
            username: request.username,
            displayName: form.displayName,
            zone: form.zone ?? .utc,
            locale: form.locale ?? "",
            expiresAt: work.now + EmailToken.Purpose.verification.lifetime
        )
        try await RegistrationRepository.insert(registration, tokenHash: mails.tokens.hash(mails.tokens.token(id)), work.sql)
    }

    // MARK: the mail

    private func lookUpNext(now: Instant) async throws -> Int {
        guard let registration = try await repository.lease(ids.make()) else { return 0 }
        guard try await decide(registration) else { return 1 }
        let token = mails.tokens.token(registration.id)
        do {
            _ = try await notifications.sendMail(
                SendMailRequest(
                    // The same for every try.
                    operationID: OperationID(high: registration.id.high, low: registration.id.low),
                    userID: registration.account,
                    address: registration.email,
                    locale: registration.locale,
                    kind: .registration,
                    values: MailValues(link: links.link(token, for: .verification, locale: registration.locale)),
                    uselessAfter: registration.expiresAt
                ),
                context: CallContext.expiring(in: Self.timeout, principal: Principal(role: .service))
            )
            try await repository.markMailed(registration, now: now)
        } catch {
            logger.debug("a registration waits for notifications", metadata: ["id": "\(registration.id)", "error": "\(error)"])
            try await repository.postpone(registration)
        }
        return 1
    }

    /// Whether the link is to be sent that makes the account. The owner of an account gets another mail; a mailbox at its limit gets none.
    private func decide(_ registration: PendingRegistration) async throws -> Bool {
        try await mutations.work.run(trace: "", requestID: "") { [accounts, mails] work in
            let owner = try await accounts.lock(email: registration.email, work.sql)
            var hasRoom = false
            if work.now < registration.expiresAt {
                // It counts once, however often notifications does not answer.
                let isCounted = owner == nil && registration.tries > 1
                hasRoom = isCounted ? true : try await AccountMails.hasRoom(registration.email, work)
            }
            if hasRoom, owner == nil { return true }
            guard try await RegistrationRepository.delete(registration, work.sql) else { return false }
            if hasRoom, let owner {
                try await mails.send(.passwordReset, as: .accountExists, to: owner.email, of: owner, work)
            }
            return false
        }
    }

    // MARK: the account

    /// Makes the account of a token, whose owner reads the address. The username that was asked for may be another user's by now: then one is made.
    ///
    /// - Throws: `EMAIL_TOKEN_INVALID`, `EMAIL_TOKEN_EXPIRED`, and `EMAIL_TAKEN` when another way has led to an account with the address.
    func complete(
        _ registration: PendingRegistration,
        _ tokenHash: [UInt8],
        _ request: VerifyEmailRequest,
        _ context: CallContext
    ) async throws -> Once<VerifyEmailReply> {
        do {
            return try await make(registration, named: registration.username, tokenHash, request, context)
        } catch let error as ServiceError where error == .usernameTaken {
            return try await make(registration, named: nil, tokenHash, request, context)
        }
    }

    private func make(
        _ registration: PendingRegistration,
        named wanted: String?,
        _ tokenHash: [UInt8],
        _ request: VerifyEmailRequest,
        _ context: CallContext
    ) async throws -> Once<VerifyEmailReply> {
        try await naming.run(wanted, after: registration.email) { username in
            try await mutations.once(context, request) { work in
                guard let waiting = try await RegistrationRepository.lock(tokenHash, work.sql) else { throw EmailToken.invalid }
                let token = EmailToken(purpose: .verification, address: waiting.email, expiresAt: waiting.expiresAt)
                if let refusal = token.refusal(for: [.verification], now: work.now) { throw refusal }
                // Of several registrations of an address it is not known which is that of the mailbox's owner: then none's password holds.
                let isOnly = try await RegistrationRepository.deleteAll(ofEmail: waiting.email, work.sql) == 1
                let account = Account(
                    id: waiting.account,
                    email: waiting.email,
                    passwordHash: isOnly ? waiting.passwordHash : nil,
                    username: username,
                    displayName: waiting.displayName ?? names.fallback(email: waiting.email, username: username),
                    zone: waiting.zone,
                    emailVerifiedAt: work.now,
                    locale: waiting.locale,
                    now: work.now
                )
                try await writer.create(account, work)
                // So that a repeat is answered as one.
                let (id, now) = (waiting.id, work.now)
                try await EmailTokenRepository.insert(id, token, hash: tokenHash, of: account.id, now: now, work.sql)
                try await EmailTokenRepository.markUsed(id, now: now, work.sql)
                if !isOnly { try await mails.send(.passwordReset, to: account.email, of: account, work) }
                return VerifyEmailReply(accountCreated: true)
            }
        }
    }
}
