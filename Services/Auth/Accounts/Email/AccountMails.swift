internal import AuthCore
internal import AuthDomain
internal import CommonAPI
internal import Kernel
internal import NotificationsAPI
internal import Outbox

/// Has mails sent about an account (AU-13). Each is a row of the transaction that causes it; `MailDispatch` brings it to `notifications`.
struct AccountMails: Sendable {
    /// How long a mail that only informs is of use.
    private static let notice = Interval.days(7)

    let tokens: EmailTokens
    /// Wakes the job that brings mails to `notifications`.
    let queued = WakeSignal()

    /// The link that verifies a new account's address. A mailbox at its limit gets none, and the registration does not show it.
    func welcome(_ account: Account, _ work: UnitOfWork) async throws {
        guard !account.email.isEmpty, account.emailVerifiedAt == nil, try await Self.hasRoom(account.email, work) else { return }
        try await send(.verification, to: account.email, of: account, work)
    }

    /// A mail with a link; the caller has checked the limits.
    ///
    /// - Parameter kind: nil for the one that is usual for the purpose.
    func send(
        _ purpose: EmailToken.Purpose,
        as kind: MailKind? = nil,
        to address: String,
        of account: Account,
        _ work: UnitOfWork
    ) async throws {
        let id: EmailTokenID = work.ids.make()
        let expiresAt = work.now + purpose.lifetime
        try await EmailTokenRepository.insert(
            id,
            EmailToken(purpose: purpose, address: address, expiresAt: expiresAt),
            hash: tokens.hash(tokens.token(id)),
            of: account.id,
            now: work.now,
            work.sql
        )
        let mail = PendingMail(
            id: work.ids.make(),
            account: account.id,
            kind: kind ?? purpose.mail,
            address: address,
            locale: account.locale,
            token: id,
            uselessAfter: expiresAt
        )
        try await queue(mail, work)
    }

    /// A mail that informs. To an address whose owner has not confirmed it only within the limit of a mailbox: it may be a stranger's.
    ///
    /// - Parameters:
    ///   - at: the instant that the mail is about.
    ///   - newAddress: the account's address from now on, as far as it is shown.
    ///   - recoveryCodesLeft: of the second factor.
    ///   - ended: what has not come back with the account; nil when it is not known.
    func inform(
        _ account: Account,
        _ kind: MailKind,
        at: Instant? = nil,
        newAddress: String? = nil,
        recoveryCodesLeft: Int32? = nil,
        ended: EndedByDeletion? = nil,
        _ work: UnitOfWork
    ) async throws {
        work.whenEnded { [queued] in queued.wake() }
        try await Self.note(
            account,
            kind,
            at: at,
            newAddress: newAddress,
            recoveryCodesLeft: recoveryCodesLeft,
            ended: ended,
            work
        )
    }

    /// The same by who has no job to wake, such as a command of an operator: the service finds the row within a second.
    static func note(
        _ account: Account,
        _ kind: MailKind,
        at: Instant? = nil,
        newAddress: String? = nil,
        recoveryCodesLeft: Int32? = nil,
        ended: EndedByDeletion? = nil,
        _ work: UnitOfWork
    ) async throws {
        guard !account.email.isEmpty else { return }
        if account.emailVerifiedAt == nil { guard try await hasRoom(account.email, work) else { return } }
        let mail = PendingMail(
            id: work.ids.make(),
            account: account.id,
            kind: kind,
            address: account.email,
            locale: account.locale,
            at: at,
            newAddress: newAddress,
            recoveryCodesLeft: recoveryCodesLeft,
            ended: ended,
            uselessAfter: work.now + Self.notice
        )
        try await MailQueueRepository.insert(mail, now: work.now, work.sql)
    }

    private func queue(_ mail: PendingMail, _ work: UnitOfWork) async throws {
        work.whenEnded { [queued] in queued.wake() }
        try await MailQueueRepository.insert(mail, now: work.now, work.sql)
    }

    /// Counts a mail to an address. - Returns: false when its mailbox is at the limit.
    static func hasRoom(_ address: String, _ work: UnitOfWork) async throws -> Bool {
        try await MailLimitRepository.count([.mailbox(address)], now: work.now, work.sql) == nil
    }
}
