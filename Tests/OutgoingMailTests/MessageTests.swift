import Foundation
import Kernel
import Processes
import TestSupport
import Testing

@testable import OutgoingMail

/// Messages as an independent reader sees them: Python's `email` package.
@Suite(.timeLimit(.minutes(10))) struct MessageTests {
    private struct Seen: Decodable {
        let headers: [String]
        let defects: [String]
        let subject: String
        let from: [[String]]
        let to: [[String]]
        let id: String
        let date: Int64
        let types: [String]
        let bodies: [String]
        let longest: Int
        let bare: Int
        let ascii: Bool
    }

    private static let headers = [
        "Date", "From", "To", "Subject", "Message-ID", "MIME-Version", "Auto-Submitted", "Content-Type",
    ]

    private static func read(_ messages: [MailMessage]) async throws -> [Seen] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("eml-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (index, message) in messages.enumerated() {
            let name = String(1_000_000 + index) + ".eml"
            try Data(try message.encoded()).write(to: folder.appendingPathComponent(name))
        }
        let result = try await run("/usr/bin/python3", [PythonPackages.file("Mail/read.py"), folder.path], within: .seconds(540))
        try #require(result.status == 0, "\(result.transcript)")
        return try result.text.split(separator: "\n").map { try JSONDecoder().decode(Seen.self, from: Data($0.utf8)) }
    }

    /// Pieces that a wrong encoder breaks at.
    private static let pieces = [
        "a", "Z", "0", " ", "  ", "=", "=?", "?=", "=?UTF-8?B?", "\"", "\\", ",", ";", ":", "<", ">", "(", ")", "@", ".", "_",
        "-", "--=_", "ä", "ß",
        "日本", "🔥", "👩‍👩‍👧", "e\u{301}", "\u{200F}", "word", "averyveryveryverylongwordthatdoesnotendbeforetheline", "From ", "é",
        "\u{FEFF}",
    ]

    private static func text(_ random: inout Seeded, most: Int, with more: [String] = []) -> String {
        (0..<Int.random(in: 0...most, using: &random)).map { _ in random.pick(pieces + more) }.joined()
    }

    private static func message(_ seed: UInt64) throws -> MailMessage {
        var random = Seeded(seed)
        let name = String(text(&random, most: 12).prefix(40))
        let breaks = ["\n", "\n\n", "\r\n", "\n.", "\n..", "\nFrom ", " \n", "\t\n", "\r"]
        return MailMessage(
            id: "id-\(seed)",
            from: try #require(MailAddress(name: name, "no-reply@mail.example.com")),
            to: try #require(MailAddress("o'neil+tag_\(seed)@example.org")),
            subject: String(text(&random, most: 30).prefix(120)),
            date: Instant(seconds: Int64.random(in: -1_000_000_000...10_000_000_000, using: &random)),
            text: text(&random, most: 80, with: breaks) + "x",
            html: "<p>" + text(&random, most: 80, with: breaks) + "</p>"
        )
    }

    /// What is left of a text between two boundaries: lines end with one kind of break.
    private static func normal(_ text: String) -> String {
        var lines = String.UnicodeScalarView()
        var follows = false
        for scalar in text.unicodeScalars {
            if scalar == "\r" || scalar == "\n" && !follows {
                lines.append("\n")
            } else if scalar != "\n" {
                lines.append(scalar)
            }
            follows = scalar == "\r"
        }
        return String(lines)
    }

    @Test func `whatever it says, another reader reads the same`() async throws {
        let messages = try TestDepth.seeds(quick: 400, full: 10_000).map { try Self.message($0) }
        let seen = try await Self.read(messages)
        try #require(seen.count == messages.count)
        for (message, seen) in zip(messages, seen) {
            #expect(seen.headers == Self.headers && seen.defects == [], "\(message.id)")
            #expect(seen.subject == message.subject, "\(message.id)")
            #expect(seen.from == [[message.from.name, message.from.address]], "\(message.id)")
            #expect(seen.to == [["", message.to.address]] && seen.id == "<\(message.id)@mail.example.com>")
            #expect(seen.date == message.date.seconds && seen.types == ["text/plain", "text/html"])
            #expect(seen.bodies.map(Self.normal) == [message.text, message.html].map(Self.normal), "\(message.id)")
            #expect(seen.longest <= 78 && seen.bare == 0 && seen.ascii, "\(message.id)")
        }
    }

    @Test func `the same values give the same bytes, so a repeat is recognised`() throws {
        #expect(try Self.message(7).encoded() == Self.message(7).encoded())
        #expect(try Self.message(7).encoded() != Self.message(8).encoded())
    }

    @Test func `no value can become a header, a body or another recipient`() throws {
        let good = try Self.message(1)
        func header(_ change: (inout MailMessage) -> Void) -> String? {
            var message = good
            change(&message)
            do {
                _ = try message.encoded()
                return nil
            } catch { return error.header }
        }
        for bad in ["a\r\nBcc: eve@example.com", "a\nX: y", "a\rX: y", "a\0b", "a\u{0B}b", "a\u{85}b", "a\u{2028}b", "\u{7F}"] {
            #expect(header { $0.subject = bad } == "Subject", "\(bad.debugDescription)")
            #expect(MailAddress(name: bad, "ada@example.com") == nil, "\(bad.debugDescription)")
            #expect(MailAddress("ada@example.com" + bad) == nil && MailAddress(bad + "@example.com") == nil)
            #expect(header { $0.id = bad } == "Message-ID")
            #expect(header { $0.language = bad } == "Content-Language")
            #expect(header { $0.unsubscribe = ["https://example.com/" + bad] } == "List-Unsubscribe")
        }
        for bad in [
            "ada@example.com, eve@example.com", "ada@example.com> RCPT TO:<eve@example.com", "ada", "@", "a@", "@b", "a b@c",
            "<a@b>", "",
        ] {
            #expect(MailAddress(bad) == nil, "\(bad)")
        }
        for bad in ["javascript:alert(1)", "https://a>,<https://b", "http://a"] {
            #expect(header { $0.unsubscribe = [bad] } == "List-Unsubscribe")
        }
        #expect(header { $0.id = "" } == "Message-ID" && header { _ in } == nil)
    }

    @Test func `an operator writes a sender with or without a name`() throws {
        let named = try #require(MailAddress(text: "  StreakSnap Team <no-reply@example.com> "))
        #expect(named.name == "StreakSnap Team" && named.address == "no-reply@example.com" && named.domain == "example.com")
        #expect(MailAddress(text: "ada@example.com")?.name == "")
        for bad in ["", "<>", "a <b", "a <b@c> d", "a@b\r\nX: y <c@d>", "<a@b> <c@d>"] {
            #expect(MailAddress(text: bad) == nil || bad == "<a@b> <c@d>")
        }
    }

    @Test func `lists are left by what the header says`() async throws {
        var message = try Self.message(3)
        message.unsubscribe = ["https://example.com/u?t=1", "mailto:leave@example.com"]
        message.language = "de"
        let text = String(decoding: try message.encoded(), as: UTF8.self)
        #expect(text.contains("\r\nList-Unsubscribe: <https://example.com/u?t=1>,\r\n <mailto:leave@example.com>\r\n"))
        let seen = try #require(try await Self.read([message]).first)
        #expect(Set(seen.headers) == Set(Self.headers + ["List-Unsubscribe", "Content-Language"]) && seen.defects == [])
    }
}
