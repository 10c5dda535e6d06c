import Foundation
import Synchronization
import Testing

/// An HTTP server on a free port of 127.0.0.1 that answers as a test says: it also cuts connections, and sends in pieces.
final class LocalServer: Sendable {
    struct Request: Sendable {
        var verb: String
        var target: String
        /// Names in lower case.
        var headers: [String: String]
        var body: Data

        var json: [String: String] { (try? JSONDecoder().decode([String: String].self, from: body)) ?? [:] }
    }

    enum Answer: Sendable {
        case reply(Int, String, headers: [String: String] = [:])
        /// Ends the connection without a word.
        case drop
        /// A body without a length, in pieces; then the connection ends.
        case pieces([String], type: String)
        /// Nothing, until the client has gone.
        case silence
    }

    let port: UInt16
    private let listener: Int32
    private let seen = Mutex<[Request]>([])
    private let answer: @Sendable (Request, Int) -> Answer

    /// - Parameter answer: gets each request and how many came before it.
    init(_ answer: @escaping @Sendable (Request, Int) -> Answer) throws {
        self.answer = answer
        (listener, port) = try Self.listen()
        let (socket, reference) = (listener, WeakServer(self))
        Thread.detachNewThread {
            while case let client = accept(socket, nil, nil), client >= 0 {
                Thread.detachNewThread {
                    while let server = reference.server, server.serveOne(client) {}
                    shutdown(client, Int32(SHUT_RDWR))
                    close(client)
                }
            }
        }
    }

    /// A socket that listens on a free port.
    static func listen() throws -> (socket: Int32, port: UInt16) {
        let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 && Foundation.listen(socket, 128) == 0 && getsockname(socket, $0, &size) == 0
            }
        }
        guard isOpen else { throw CocoaError(.fileNoSuchFile) }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    var url: URL { get throws { try #require(URL(string: "http://127.0.0.1:\(port)")) } }
    var requests: [Request] { seen.withLock { $0 } }

    /// False when the connection has ended.
    private func serveOne(_ client: Int32) -> Bool {
        guard let request = Self.read(client) else { return false }
        let count = seen.withLock { requests in
            requests.append(request)
            return requests.count - 1
        }
        switch answer(request, count) {
        case .drop: return false
        case .silence:
            var byte: UInt8 = 0
            while recv(client, &byte, 1, 0) > 0 {}
            return false
        case .reply(let status, let body, let headers):
            var head = "HTTP/1.1 \(status) OK\r\nContent-Length: \(body.utf8.count)\r\n"
            if headers["Content-Type"] == nil { head += "Content-Type: application/json\r\n" }
            for (name, value) in headers { head += "\(name): \(value)\r\n" }
            let isSent = Self.send(client, head + "\r\n" + body)
            return isSent && request.headers["connection"]?.lowercased() != "close"
        case .pieces(let pieces, let type):
            guard Self.send(client, "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nConnection: close\r\n\r\n") else { return false }
            for piece in pieces where !Self.send(client, piece) { return false }
            return false
        }
    }

    private static func send(_ client: Int32, _ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func read(_ client: Int32) -> Request? {
        var buffer = Data()
        let gap = Data("\r\n\r\n".utf8)
        func more() -> Bool {
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = recv(client, &bytes, bytes.count, 0)
            guard count > 0 else { return false }
            buffer += bytes[..<count]
            return true
        }
        var end = buffer.range(of: gap)
        while end == nil {
            guard more() else { return nil }
            end = buffer.range(of: gap)
        }
        guard let end else { return nil }
        let lines = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let first = lines[0].split(separator: " ").map(String.init)
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        if headers["expect"] != nil { _ = send(client, "HTTP/1.1 100 Continue\r\n\r\n") }
        var body = Data(buffer[end.upperBound...])
        if headers["transfer-encoding"] == "chunked" {
            buffer = body
            body = Data()
            while true {
                guard let line = buffer.range(of: Data("\r\n".utf8)) else {
                    guard more() else { return nil }
                    continue
                }
                let size = Int(String(decoding: buffer[buffer.startIndex..<line.lowerBound], as: UTF8.self), radix: 16) ?? 0
                while buffer.distance(from: line.upperBound, to: buffer.endIndex) < size + 2 { guard more() else { return nil } }
                body += buffer[line.upperBound..<(line.upperBound + size)]
                buffer = Data(buffer[(line.upperBound + size + 2)...])
                if size == 0 { break }
            }
        } else {
            let length = Int(headers["content-length"] ?? "") ?? 0
            while body.count < length {
                buffer = Data()
                guard more() else { return nil }
                body += buffer
            }
        }
        return Request(verb: first[0], target: first[1], headers: headers, body: body)
    }
}

/// So that a server whose test is over ends.
private final class WeakServer: @unchecked Sendable {
    weak var server: LocalServer?
    init(_ server: LocalServer) { self.server = server }
}
