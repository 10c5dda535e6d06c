private import FoundationEssentials
public import Kernel
private import WorkPool

/// Sends messages to the mail server of an installation (SMTP), by libcurl on a few threads of its own.
///
/// The connection is encrypted: `smtps` from its beginning, `smtp` by STARTTLS, without which nothing is sent (`CURLUSESSL_ALL`). Only to a
/// server on this machine STARTTLS may be missing. The time of every exchange is bounded.
public final class OutgoingMail: Sendable {
    /// What is wrong with the settings of a server.
    public struct Unusable: Error, Hashable, Sendable {
        /// In words, without the URL, which may hold a password.
        public let reason: String
    }

    /// What became of a message.
    public enum Outcome: Hashable, Sendable {
        /// The server has it and answers for it.
        case accepted
        /// The server will never take it: 5xx to the recipient (RCPT) or to the message itself; with the number of its answer.
        case refused(String)
        /// The server does not have it; it may take it later: no connection, no encryption, 4xx, or 5xx to what is not about this message
        /// (sign-in, sender).
        case postponed(String)
        /// The whole message was sent and the answer to it did not come: the server may have it or not.
        case unanswered(String)
    }

    private let server: SMTPServer
    private let pool: WorkPool
    private let timeout: Interval

    /// A client of one server.
    ///
    /// - Parameters:
    ///   - url: `smtps://user:password@host:465` or `smtp://host:587`; user and password are percent-encoded. A path is the name that is
    ///     said in EHLO, instead of the machine's.
    ///   - authorities: file of certificates (PEM) that the server's is checked with; nil: those of the system.
    ///   - timeout: limit of one exchange, with name resolution, and half of it, at least 1 s, of each answer. A server that is silent at the
    ///     end is waited for half as long again.
    ///   - threads: exchanges at once.
    ///   - mayBePlainLocally: whether a server on this machine may be without STARTTLS.
    /// - Throws: `Unusable`.
    public init(
        url: String,
        authorities: String? = nil,
        timeout: Interval = .seconds(60),
        threads: Int = 4,
        mayBePlainLocally: Bool = true
    ) throws(Unusable) {
        guard let parts = URL(string: url), let scheme = parts.scheme?.lowercased(), ["smtp", "smtps"].contains(scheme),
            let host = parts.host, !host.isEmpty, url.utf8.allSatisfy({ (33...126).contains($0) })
        else { throw Unusable(reason: "it must be smtp://HOST or smtps://HOST, with a port, a user and a password if need be") }
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let isLocal = name.lowercased() == "localhost" || IPAddress(name)?.isLoopback == true
        server = SMTPServer(url: url, authorities: authorities, mustEncrypt: !(isLocal && mayBePlainLocally))
        pool = WorkPool(name: "mail-out", threads: threads, queueLimit: threads)
        self.timeout = timeout
    }

    /// Sends a message and waits for the answer.
    ///
    /// - Throws: `MailMessage.Malformed`; `UNAVAILABLE` when too many wait; `CancellationError` when the task is cancelled before the
    ///   exchange began.
    public func send(_ message: MailMessage) async throws -> Outcome {
        let envelope = SMTPEnvelope(from: message.from.address, to: message.to.address, bytes: try message.encoded())
        return try await pool.run { [server, timeout] in SMTPExchange.perform(envelope, with: server, timeout: timeout) }
    }
}

/// Where messages are sent.
struct SMTPServer: Sendable {
    let url: String
    let authorities: String?
    /// Otherwise STARTTLS is used where the server offers it.
    let mustEncrypt: Bool
}

/// What one exchange hands over.
struct SMTPEnvelope: Sendable {
    let from: String
    let to: String
    let bytes: [UInt8]
}
