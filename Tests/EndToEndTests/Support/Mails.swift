import Foundation
import TestSupport

/// The mails that an installation has written to its folder.
struct Mails: Sendable {
    let home: Installation

    /// One mail, as far as tests read it.
    struct Mail: Sendable {
        let subject: String
        /// Everything after the headers, decoded.
        let text: String

        /// The token in its link; nil without one.
        var token: String? { text.firstMatch(of: /\/(?:verify|reset)\/([A-Za-z0-9_-]{43})/).map { String($0.1) } }
    }

    /// Mails to an address, oldest first.
    func all(to address: String) -> [Mail] {
        Files.all(below: home.data.appending(path: "mail")).filter { $0.pathExtension == "eml" }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .compactMap { Files.text($0) }
            .filter { $0.contains("\r\nTo: \(address)\r\n") }
            .map { raw in
                let subject = raw.firstMatch(of: /\r\nSubject: ([^\r]*)/).map { String($0.1) } ?? ""
                return Mail(subject: subject, text: Self.decoded(raw))
            }
    }

    /// Waits for a mail whose subject begins so. - Returns: the newest.
    func newest(_ subject: String, to address: String, count: Int = 1) async throws -> Mail {
        let matching = { all(to: address).filter { $0.subject.hasPrefix(subject) } }
        try await eventually("mail \(count) “\(subject)” to \(address)") { matching().count >= count }
        guard let mail = matching().last else { throw CancellationError() }
        return mail
    }

    /// Waits for a mail with a link. - Returns: the token of the newest.
    func token(_ subject: String, to address: String, count: Int = 1) async throws -> String {
        guard let token = try await newest(subject, to: address, count: count).token else { throw CancellationError() }
        return token
    }

    /// Quoted-printable, of the ASCII in it.
    private static func decoded(_ text: String) -> String {
        text.replacing("=\r\n", with: "").replacing("=3D", with: "=")
    }
}
