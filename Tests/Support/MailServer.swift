package import Foundation
import Processes
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

    private let folder: URL
    private let arguments: [String]
    private let state = Mutex<(child: ChildProcess?, report: Report?)>((nil, nil))

    private init(folder: URL, arguments: [String]) { (self.folder, self.arguments) = (folder, arguments) }

    deinit {
        let child = state.withLock { $0.child }
        child?.signal(SIGKILL)
        Task { [folder] in
            _ = await child?.waitForExit()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// Starts a server and waits until it listens.
    ///
    /// - Parameters:
    ///   - login: `user:password` that it demands; empty for none.
    ///   - refusesSender: answers 553 to every sender.
    package static func start(_ encryption: Encryption = .none, login: String = "", refusesSender: Bool = false) async throws
        -> MailServer
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mail-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let server = MailServer(
            folder: folder,
            arguments: [encryption.rawValue, login, refusesSender ? "refuse-sender" : ""]
        )
        try await server.start()
        return server
    }

    /// Starts it again after it was killed, on the same port.
    package func start() async throws {
        let file = folder.appendingPathComponent("ready")
        try? FileManager.default.removeItem(at: file)
        let child = try await ChildProcess.spawn(
            Command(
                executable: try await PythonPackages.mail.value,
                arguments: [PythonPackages.file("Mail/serve.py"), file.path, folder.path, "\(port)"] + arguments,
                environment: Command.inherited(),
                output: folder.appendingPathComponent("log").path
            )
        )
        state.withLock { $0.child = child }
        let end = ContinuousClock.now.advanced(by: .seconds(120))
        while ContinuousClock.now < end, !child.hasExited {
            if let data = try? Data(contentsOf: file) {
                let report = try JSONDecoder().decode(Report.self, from: data)
                return state.withLock { $0.report = report }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        let log = (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
        throw PythonPackages.Failure(description: "the mail server did not start: \(log)")
    }

    /// Kills it, and waits until it is gone.
    package func kill() async {
        let child = state.withLock { $0.child }
        child?.signal(SIGKILL)
        _ = await child?.waitForExit()
    }

    /// What was handed over until now, in order.
    package var messages: [Message] {
        get throws {
            try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                .filter { $0.pathExtension == "json" }.sorted { $0.lastPathComponent < $1.lastPathComponent }
                .map { try JSONDecoder().decode(Message.self, from: try Data(contentsOf: $0)) }
        }
    }

    package var port: Int { state.withLock { $0.report?.port ?? 0 } }
    /// The file of its certificate, which it has signed itself.
    package var certificate: String { state.withLock { $0.report?.certificate ?? "" } }
}
