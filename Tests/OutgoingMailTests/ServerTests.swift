import Foundation
import Kernel
import TestSupport
import Testing

@testable import OutgoingMail

/// A real mail server, and what its answers come to.
@Suite(.timeLimit(.minutes(10))) struct ServerTests {
    private func message(to name: String = "ada") throws -> MailMessage {
        MailMessage(
            id: "test-\(name)",
            from: try #require(MailAddress(text: "StreakSnap <no-reply@example.com>")),
            to: try #require(MailAddress("\(name)@example.com")),
            subject: "Grüße",
            date: Instant(seconds: 1_800_000_000),
            text: "Hallo\n.\n..\nEnde\n",
            html: "<p>Hallo</p>"
        )
    }

    private func client(
        _ url: String,
        authorities: String? = nil,
        timeout: Interval = .seconds(60),
        mayBePlainLocally: Bool = true
    ) throws -> OutgoingMail {
        try OutgoingMail(url: url, authorities: authorities, timeout: timeout, mayBePlainLocally: mayBePlainLocally)
    }

    @Test func `each answer of the server counts by what it is about`() async throws {
        let server = try await MailServer.start()
        let address = "smtp://127.0.0.1:\(server.port)"
        let mail = try client(address)
        #expect(try await mail.send(message()) == .accepted)
        #expect(try await mail.send(message(to: "unknown")) == .refused("550 5.1.1"), "without the words, which hold the address")
        #expect(try await mail.send(message(to: "greylisted")) == .postponed("450 4.2.0"))
        #expect(try await mail.send(message(to: "spam")) == .refused("554 5.7.1"))
        #expect(try await mail.send(message(to: "full")) == .postponed("452 4.3.1"))
        // Only of the one that never answers is the time limit reached.
        for (name, limit) in [("silent", Interval.seconds(4)), ("cut", .seconds(60))] {
            let outcome = try await client(address, timeout: limit).send(message(to: name))
            guard case .unanswered = outcome else {
                Issue.record("\(name): \(outcome)")
                continue
            }
        }
        let handedOver = try server.messages.map(\.to)
        #expect(handedOver == ["ada", "spam", "full", "silent", "cut"].map { ["\($0)@example.com"] })
        let sent = try #require(try server.messages.first)
        let bytes = try message().encoded()
        #expect(sent.from == "no-reply@example.com" && Array(sent.content) == bytes, "dots at line starts too")
    }

    @Test func `without encryption nothing is sent but to this machine`() async throws {
        let server = try await MailServer.start()
        let strict = try client("smtp://127.0.0.1:\(server.port)", mayBePlainLocally: false)
        guard case .postponed = try await strict.send(message()) else {
            Issue.record("it was sent")
            return
        }
        #expect(try server.messages.isEmpty)
        #expect(try await client("smtp://127.0.0.1:\(server.port)").send(message()) == .accepted)
    }

    @Test func `signs in after STARTTLS, and only to a server with a trusted certificate`() async throws {
        let server = try await MailServer.start(.starttls, login: "ada:s3cret word")
        let address = "ada:s3cret%20word@127.0.0.1:\(server.port)"
        #expect(
            try await client("smtp://\(address)", authorities: server.certificate, mayBePlainLocally: false).send(message())
                == .accepted
        )
        let sent = try #require(try server.messages.first)
        #expect(sent.encrypted && sent.user == "ada")
        for (url, authorities) in [
            ("smtp://\(address)", String?.none), ("smtp://ada:wrong@127.0.0.1:\(server.port)", server.certificate),
            ("smtp://127.0.0.1:\(server.port)", server.certificate),
        ] {
            guard case .postponed = try await client(url, authorities: authorities).send(message()) else {
                Issue.record("\(url)")
                continue
            }
        }
        #expect(try server.messages.count == 1, "a refused sign-in or certificate ends no mail, and sends none")
    }

    @Test func `smtps is encrypted from the beginning`() async throws {
        let server = try await MailServer.start(.smtps)
        #expect(
            try await client("smtps://127.0.0.1:\(server.port)", authorities: server.certificate).send(message()) == .accepted
        )
        #expect(try server.messages.map(\.encrypted) == [true])
    }

    @Test func `a sender that is not wanted ends no mail`() async throws {
        let server = try await MailServer.start(refusesSender: true)
        #expect(try await client("smtp://127.0.0.1:\(server.port)").send(message()) == .postponed("553 5.7.1"))
    }

    @Test func `a server that is away or says nothing postpones`() async throws {
        guard case .postponed = try await client("smtp://127.0.0.1:1").send(message()) else {
            Issue.record("away")
            return
        }
        let mute = try ListeningForNothing()
        let start = ContinuousClock.now
        let mail = try client("smtp://127.0.0.1:\(mute.port)", timeout: .seconds(1))
        guard case .postponed = try await mail.send(message()) else {
            Issue.record("mute")
            return
        }
        #expect(ContinuousClock.now - start < .seconds(50))
    }

    @Test(arguments: [
        "", "http://example.com", "smtp://", "example.com:25", "smtp://exa mple.com", "smtp://a\r\n.com", "file:///etc/passwd",
    ]) func `refuses what is no mail server`(url: String) {
        #expect(throws: OutgoingMail.Unusable.self) { _ = try OutgoingMail(url: url) }
    }

    @Test func `more mails at once than threads and places are refused at once`() async throws {
        let mute = try ListeningForNothing()
        let mail = try OutgoingMail(url: "smtp://127.0.0.1:\(mute.port)", timeout: .seconds(60), threads: 1)
        let message = try message()
        let refused = await withTaskGroup(of: Bool.self) { tasks in
            for _ in 0..<5 {
                tasks.addTask {
                    do {
                        _ = try await mail.send(message)
                        return false
                    } catch { return (error as? ServiceError)?.reason == "UNAVAILABLE" }
                }
            }
            var refused: [Bool] = []
            for await isRefused in tasks {
                refused.append(isRefused)
                // One is being sent and one waits, until the server ends.
                if refused.count == 3 { mute.end() }
            }
            return refused
        }
        #expect(refused == [true, true, true, false, false])
    }
}

/// A port that takes connections and never says anything.
private final class ListeningForNothing: Sendable {
    private let descriptor: Int32
    let port: UInt16

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let fd = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(fd, $0, size) == 0 && getsockname(fd, $0, &size) == 0 && listen(fd, 16) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        try #require(isListening)
    }

    /// Connections end too: none was accepted.
    func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    deinit { close(descriptor) }
}
