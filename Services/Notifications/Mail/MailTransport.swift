internal import FoundationEssentials
internal import Kernel
internal import OutgoingMail
internal import Runtime

/// Where mails go.
enum MailTransport: Sendable {
    /// To a mail server.
    case server(OutgoingMail)
    /// Into a folder, one file each: for development.
    case folder(String)

    /// What is configured; nil when mails have to wait until something is.
    ///
    /// - Throws: `Settings.Invalid`.
    init?(_ settings: Settings) throws {
        let (url, folder) = (try settings.get(MailFeature.serverURL), try settings.get(MailFeature.folder))
        if url.isEmpty {
            if folder.isEmpty { return nil }
            self = .folder(folder)
            return
        }
        let authorities = try settings.get(MailFeature.authorities)
        do {
            self = .server(try OutgoingMail(url: url, authorities: authorities.isEmpty ? nil : authorities))
        } catch {
            throw Settings.Invalid("\(MailFeature.serverURL.argument): \(error.reason).")
        }
    }

    /// Hands a mail over.
    ///
    /// - Throws: `MailMessage.Malformed`, `CancellationError`, `UNAVAILABLE` when too many are handed over at once.
    func send(_ message: MailMessage) async throws -> OutgoingMail.Outcome {
        switch self {
        case .server(let server): return try await server.send(message)
        case .folder(let folder):
            let bytes = try message.encoded()
            do {
                // It holds links that let their reader in.
                try FileManager.default.createDirectory(
                    atPath: folder,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
                let file = "\(folder)/\("\(message.date)".replacing(":", with: ""))-\(message.id).eml"
                try Data(bytes).write(to: URL(filePath: file), options: .atomic)
                return .accepted
            } catch { return .postponed("the folder cannot be written: \(error)") }
        }
    }
}
