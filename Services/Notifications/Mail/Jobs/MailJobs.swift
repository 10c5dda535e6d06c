internal import AuthAPI
internal import Bus
internal import Kernel
internal import Logging
internal import NotificationsDomain
internal import Outbox
internal import OutgoingMail
internal import Runtime
internal import ServiceRuntime

/// Hands mails over, and ends those that are of no use any more. Any replica; what one that dies has leased goes to another in two minutes.
///
/// A mail is handed over once, unless the replica dies or the server is silent between taking it and the note of that: then a second time, with
/// the same `Message-ID`, and never a third.
struct MailJobs: Sendable {
    let mails: MailRepository
    /// Raised when a mail was stored.
    let stored: WakeSignal
    let composer: MailComposer
    let addresses: EmailClient
    /// Nil: mails wait until they are of no use.
    let transport: MailTransport?
    let clock: any Clock
    let ids: any IDSource
    let logger: Logger
    let metrics: Metrics

    var all: [Job] {
        [
            Job(
                "mail_delivery",
                every: .seconds(1),
                lanes: 4,
                wokenBy: stored,
                oldestDue: { try await mails.oldestDue() }
            ) { now in try await sendNext(now: now) },
            Job("expired_mails", every: .seconds(5)) { now in
                let count = try await mails.expire(now: now)
                self.count(.expired, by: count)
                return count
            },
            Job("old_mails", every: .seconds(600)) { now in try await mails.purge(now: now) },
        ]
    }

    private func sendNext(now: Instant) async throws -> Int {
        guard let transport, var mail = try await mails.lease(ids.make(), now: now) else { return 0 }
        guard mail.unanswered < MailRetry.unanswered else {
            try await end(mail, .failed, "no answer in \(mail.unanswered) tries")
            return 1
        }
        if case .unrecognized(let kind) = mail.kind {
            try await postpone(mail, isAnswered: true, "kind \(kind) is newer than this replica")
            return 1
        }
        do {
            guard try await findAddress(&mail) else {
                try await end(mail, .failed, "the user has no address")
                return 1
            }
        } catch let error as ServiceError {
            try await postpone(mail, isAnswered: true, "auth: \(error.reason)")
            return 1
        }
        guard let message = try composer.message(mail) else {
            try await end(mail, .failed, "it cannot be written")
            return 1
        }
        switch await outcome(of: message, transport) {
        case .accepted: try await end(mail, .sent, nil)
        case .refused(let problem): try await end(mail, .failed, problem)
        case .postponed(let problem): try await postpone(mail, isAnswered: true, problem)
        case .unanswered(let problem):
            if mail.unanswered + 1 < MailRetry.unanswered {
                try await postpone(mail, isAnswered: false, problem)
            } else {
                try await end(mail, .failed, problem)
            }
        }
        return 1
    }

    /// Asks auth where a mail goes that was stored without an address.
    ///
    /// - Returns: false when there is no such address.
    /// - Throws: `ServiceError` while auth does not answer.
    private func findAddress(_ mail: inout DueMail) async throws -> Bool {
        guard mail.address == MailRepository.unknownAddress else { return true }
        do {
            let known = try await addresses.getMailAddress(GetMailAddressRequest(userID: mail.user), context: CallContext())
            (mail.address, mail.locale) = (known.address, known.locale)
        } catch let error as ServiceError where error.code == .notFound { return false }
        return !mail.address.isEmpty
    }

    private func outcome(of message: MailMessage, _ transport: MailTransport) async -> OutgoingMail.Outcome {
        do {
            return try await transport.send(message)
        } catch let error as MailMessage.Malformed {
            return .refused("malformed \(error.header)")
        } catch { return .postponed("\(error)") }
    }

    private func postpone(_ mail: DueMail, isAnswered: Bool, _ problem: String) async throws {
        let chance: OperationID = ids.make()
        let dueAt = clock.now() + MailRetry.pause(after: mail.tries, chance: chance.low)
        logger.warning("a mail waits", metadata: ["mail": "\(mail.id)", "tries": "\(mail.tries)", "problem": "\(problem)"])
        metrics.counter("streaksnap_mail_retries_total", [], help: "Tries to hand a mail over that failed for now.").increment()
        try await mails.postpone(mail, until: dueAt, isAnswered: isAnswered, problem: problem)
    }

    private func end(_ mail: DueMail, _ end: MailEnd, _ problem: String?) async throws {
        if let problem { logger.warning("a mail was not sent", metadata: ["mail": "\(mail.id)", "problem": "\(problem)"]) }
        if try await mails.end(mail, end, problem: problem, now: clock.now()) { count(end, by: 1) }
    }

    private func count(_ end: MailEnd, by count: Int) {
        metrics.counter("streaksnap_mails_total", [("end", "\(end)")], help: "Mails that ended, by how.").increment(by: count)
    }
}
