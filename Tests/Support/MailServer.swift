package import Foundation
import Synchronization

/// A mail server (aiosmtpd) in a process of its own; it ends with this process or when it is released.
///
/// What it answers depends on the recipient's name: `unknown` 550 and `greylisted` 450 to RCPT; to the message `spam` 554 and `full` 452, `silent`
/// never, `cut` by closing the connection; everything else is taken. It notes each message that was handed over whole, whatever it answered.
package final class MailServer: Sendable {
    /// How connections are encrypted.
    package enum Encryption: String, Sendable {
        /// Not at all, and it offers none.
        case none = "plain"
        /// By STARTTLS, which it demands.
        case starttls
        /// From the beginning.
        case smtps
    }

    /// A message that was handed over.
    package struct Message: Decodable, Sendable {
        package let from: String
        package let to: [String]
        package let content: Data
        package let encrypted: Bool
        /// Who has signed in; empty for no one.
        package let user: String
    }

    private struct Report: Decodable {
        let port: Int
        let certificate: String
    }

    private let process: StandIn
    private let arguments: [String]
    private let report = Mutex<Report?>(nil)

    private init(process: StandIn, arguments: [String]) { (self.process, self.arguments) = (process, arguments) }

    /// Starts a server and waits until it listens.
    ///
    /// - Parameters:
    ///   - login: `user:password` that it demands; empty for none.
    ///   - refusesSender: answers 553 to every sender.
    package static func start(_ encryption: Encryption = .none, login: String = "", refusesSender: Bool = false) async throws
        -> MailServer
    {
        let server = MailServer(
            process: try await StandIn("mail"),
            arguments: [encryption.rawValue, login, refusesSender ? "refuse-sender" : ""]
        )
        try await server.start()
        return server
    }

    /// Starts it again after it was killed, on the same port.
    package func start() async throws {
        let data = try await process.start(
            "Mail/serve.py",
            [process.file("ready").path, process.folder.path, "\(port)"] + arguments,
            by: try await PythonPackages.mail.value,
            ready: "ready"
        )
        let new = try JSONDecoder().decode(Report.self, from: data)
        report.withLock { $0 = new }
    }

    /// Kills it, and waits until it is gone.
    package func kill() async { await process.kill() }

    /// What was handed over until now, in order.
    package var messages: [Message] {
        get throws {
            try FileManager.default.contentsOfDirectory(at: process.folder, includingPropertiesForKeys: nil)
                .filter { $0.pathExtension == "json" }.sorted { $0.lastPathComponent < $1.lastPathComponent }
                .map { try JSONDecoder().decode(Message.self, from: try Data(contentsOf: $0)) }
        }
    }

    package var port: Int { report.withLock { $0?.port ?? 0 } }
    /// The file of its certificate, which it has signed itself.
    package var certificate: String { report.withLock { $0?.certificate ?? "" } }
}
