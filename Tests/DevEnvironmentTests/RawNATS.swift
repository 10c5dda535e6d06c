import Foundation
import Testing

/// NATS' text protocol over a socket, as far as these tests need it: what the server lets through, it says itself.
final class RawNATS {
    private let socket: Int32
    private var buffer: [UInt8] = []
    private var nextInbox = 0
    private let user: String

    struct Refused: Error, Equatable { var line: String }

    /// Connects and signs in.
    ///
    /// - Throws: `Refused` with the server's words when it refuses.
    init(url: String, user: String?, password: String? = nil) throws {
        self.user = user ?? ""
        let port = try #require(UInt16(url.split(separator: ":").last.map(String.init) ?? ""))
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Refused(line: "no connection") }
        #expect(try line().hasPrefix("INFO "))
        let credentials = user.map { ",\"user\":\"\($0)\",\"pass\":\"\(password ?? "")\"" } ?? ""
        try send(
            "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1,\"lang\":\"raw\",\"version\":\"1\"\(credentials)}"
        )
        try barrier()
    }

    deinit { close(socket) }

    /// Whether the server lets this user publish to the subject.
    func canPublish(_ subject: String) throws -> Bool { try isAllowed("PUB \(subject) 0\r\n") }

    /// Whether the server lets this user subscribe to the subject.
    func canSubscribe(_ subject: String) throws -> Bool {
        nextInbox += 1
        return try isAllowed("SUB \(subject) p\(nextInbox)")
    }

    /// Sends a request with an inbox below the user's own prefix and returns the first answer's body.
    func request(_ subject: String, _ body: String = "") throws -> String {
        nextInbox += 1
        let inbox = "_INBOX.\(user).r\(nextInbox)"
        try send("SUB \(inbox) r\(nextInbox)\r\nUNSUB r\(nextInbox) 1\r\nPUB \(subject) \(inbox) \(body.utf8.count)\r\n\(body)")
        while true {
            let line = try line()
            if line.hasPrefix("-ERR") { throw Refused(line: line) }
            if line == "PING" { try send("PONG") }
            // A message of a stream comes under its own subject: the subscription shows that it is meant.
            let words = line.split(separator: " ")
            guard words.count > 3, words[0] == "MSG" || words[0] == "HMSG", words[2] == "r\(nextInbox)" else { continue }
            let total = try #require(Int(words[words.count - 1]))
            let headers = words[0] == "HMSG" ? try #require(Int(words[words.count - 2])) : 0
            let bytes = try read(total + 2)
            return String(decoding: bytes[headers..<total], as: UTF8.self)
        }
    }

    private func isAllowed(_ command: String) throws -> Bool {
        try send(command)
        do {
            try barrier()
            return true
        } catch let refusal as Refused where refusal.line.contains("Permissions Violation") {
            try barrier()
            return false
        }
    }

    /// Waits until the server has taken what was sent; throws what it complained of.
    private func barrier() throws {
        try send("PING")
        while true {
            let line = try line()
            if line.hasPrefix("-ERR") {
                // The answer to the ping still comes, unless the connection is closed.
                if line.contains("Permissions Violation") { while try self.line() != "PONG" {} }
                throw Refused(line: line)
            }
            if line == "PONG" { return }
        }
    }

    private func send(_ text: String) throws {
        let bytes = Array((text + "\r\n").utf8)
        guard Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { throw Refused(line: "closed") }
    }

    private func line() throws -> String {
        while true {
            if let end = buffer.firstRange(of: [13, 10]) {
                let line = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
                buffer.removeSubrange(..<end.upperBound)
                return line
            }
            try fill()
        }
    }

    private func read(_ count: Int) throws -> [UInt8] {
        while buffer.count < count { try fill() }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    private func fill() throws {
        var part = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &part, part.count, 0)
        guard count > 0 else { throw Refused(line: "closed") }
        buffer += part[..<count]
    }
}
