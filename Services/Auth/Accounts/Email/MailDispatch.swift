internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Logging
internal import NotificationsAPI
internal import Outbox
internal import ServiceRuntime

/// Brings mails to `notifications` (D6): each row is an operation that is repeated with its id until it is answered. Jobs do it, and no request:
/// how long one takes would show whether there was a mail to send.
struct MailDispatch: Sendable {
    let queue: MailQueueRepository
    let accounts: AccountRepository
    let mails: AccountMails
    let links: MailLinks
    let notifications: MailClient
    let work: UnitOfWorkFactory
    let ids: any IDSource
    let logger: Logger

    /// Time limit of one call.
    private static let timeout = Interval.seconds(5)

    var jobs: [Job] {
        [
            // No request wakes it: while it makes a mail the answer would take longer, and show that there is an account.
            Job("password_requests", every: .seconds(1)) { _ in try await answerRequests() },
            Job(
                "pending_mails",
                every: .seconds(1),
                lanes: 2,
                wokenBy: mails.queued,
                oldestDue: { try await queue.oldest() }
            ) { now in try await dispatchNext(now: now) },
        ]
    }

    /// Looks up the accounts of the addresses for which a new password was asked, and has the mails sent.
    private func answerRequests() async throws -> Int {
        try await work.run(trace: "", requestID: "") { [mails, accounts] work in
            let requests = try await MailQueueRepository.takeRequests(limit: 20, work.sql)
            for request in requests where work.now < request.requestedAt + EmailToken.Purpose.passwordReset.lifetime {
                guard let account = try await accounts.lock(email: request.emailKey, work.sql) else { continue }
                try await mails.send(.passwordReset, to: account.email, of: account, work)
            }
            return requests.count
        }
    }

    private func dispatchNext(now: Instant) async throws -> Int {
        guard let mail = try await queue.lease(ids.make()) else { return 0 }
        guard now < mail.uselessAfter else {
            try await queue.delete(mail)
            return 1
        }
        do {
            let context = CallContext.expiring(in: Self.timeout, principal: Principal(role: .service))
            _ = try await notifications.sendMail(request(for: mail), context: context)
            try await queue.delete(mail)
        } catch {
            // One that is refused waits too: a version of `notifications` that knows its kind may be on its way.
            let isRefused = (error as? ServiceError)?.code == .invalidArgument
            logger.log(
                level: isRefused ? .warning : .debug,
                "a mail waits for notifications",
                metadata: ["mail": "\(mail.id)", "error": "\(error)"]
            )
            try await queue.postpone(mail)
        }
        return 1
    }

    /// The same for every try.
    private func request(for mail: PendingMail) -> SendMailRequest {
        let link = mail.token.flatMap { token in
            mail.kind.purpose.map { links.link(mails.tokens.token(token), for: $0, locale: mail.locale) }
        }
        return SendMailRequest(
            operationID: mail.id,
            userID: mail.account,
            address: mail.address,
            locale: mail.locale,
            kind: mail.kind,
            values: MailValues(
                link: link ?? "",
                newAddress: mail.newAddress ?? "",
                at: mail.at,
                recoveryCodesLeft: mail.recoveryCodesLeft,
                ended: mail.ended
            ),
            uselessAfter: mail.uselessAfter
        )
    }
}
