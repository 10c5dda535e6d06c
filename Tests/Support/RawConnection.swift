internal import Foundation
private import Synchronization

/// A reply as it came over the wire.
public struct RawReply: Sendable, CustomStringConvertible {
    public let status: Int
    public let head: String
    public let body: String

    public var description: String { "\(head)\n\(body)" }

    /// The values of all headers of this name, joined; nil without one.
    public subscript(name: String) -> String? {
        let values = head.components(separatedBy: "\r\n").dropFirst().compactMap { line -> String? in
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else { return nil }
            return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// `error.code` of the envelope.
    public var code: String? {
        let object = (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any]
        return (object?["error"] as? [String: Any])?["code"] as? String
    }
}

/// A connection on which a test sends what it likes. Nothing here blocks a thread: the server runs in the same process.
public final class RawConnection: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private struct State {
        var received: [UInt8] = []
        var isClosed = false
        var wasReset = false
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    /// - Parameters:
    ///   - sendBuffer: bytes that the kernel keeps of what is sent; nil for as many as it likes.
    ///   - source: the address of this machine that it comes from; nil for the usual one.
    public init(port: UInt16, sendBuffer: Int32? = nil, from source: String? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if var sendBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &sendBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        if let source { _ = Self.with(source, 0) { [descriptor] in Glibc.bind(descriptor, $0, $1) } }
        let isConnected = Self.with("127.0.0.1", port) { [descriptor] in Glibc.connect(descriptor, $0, $1) } == 0
        guard isConnected else { throw Failure(description: "no connection: \(errno)") }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    private static func with(
        _ host: String,
        _ port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    deinit { close(descriptor) }

    /// Sends all of it, or as much as the server takes before it closes.
    public func send(_ bytes: [UInt8]) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN || errno == EINTR {
                try await Task.sleep(for: .milliseconds(1))
            } else {
                return
            }
        }
    }

    public func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Sends as much as is taken at once. - Returns: how many bytes that is.
    public func offer(_ bytes: some Sequence<UInt8>) -> Int {
        max(0, Array(bytes).withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) })
    }

    /// Throws away what has arrived. - Returns: how many bytes that is.
    public func discard() -> Int {
        receive()
        return state.withLock { state in
            defer { state.received = [] }
            return state.received.count
        }
    }

    /// Whether the other end still takes so many bytes.
    public func takes(_ count: Int) -> Bool {
        let sent = [UInt8](repeating: 32, count: count).withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        return sent > 0 || errno == EAGAIN || errno == EINTR
    }

    /// Says that nothing more will come.
    public func finishSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Whether the server has closed the connection; in order, not by a reset.
    public var isClosed: Bool {
        receive()
        return state.withLock { $0.isClosed && !$0.wasReset }
    }

    /// What has arrived and was not read as a reply.
    public var text: String {
        receive()
        return String(decoding: state.withLock { $0.received }, as: UTF8.self)
    }

    /// The next reply, an interim one included.
    ///
    /// - Parameter isHead: Whether it answers HEAD, and so has no body whatever its length says.
    public func reply(isHead: Bool = false, within limit: Duration = .seconds(60)) async throws -> RawReply {
        let deadline = ContinuousClock.now.advanced(by: limit)
        while ContinuousClock.now < deadline {
            receive()
            if let reply = state.withLock({ Self.take(&$0.received, isHead: isHead, isClosed: $0.isClosed) }) { return reply }
            guard state.withLock({ !$0.isClosed }) else { break }
            try await Task.sleep(for: .milliseconds(2))
        }
        let (text, wasReset) = (text, state.withLock { $0.wasReset })
        throw Failure(description: "no whole reply\(wasReset ? ", but a reset" : ""): “\(text)”")
    }

    private func receive() {
        state.withLock { state in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while !state.isClosed {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count > 0 { state.received += buffer[..<count] }
                if count < 0, errno == EAGAIN || errno == EINTR { return }
                if count <= 0 { (state.isClosed, state.wasReset) = (true, count < 0) }
            }
        }
    }

    private static func take(_ bytes: inout [UInt8], isHead: Bool, isClosed: Bool) -> RawReply? {
        guard let end = Data(bytes).range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        let empty = RawReply(status: status, head: head, body: "")
        if isHead || status < 200 || status == 204 || status == 304 {
            bytes.removeFirst(end.upperBound)
            return empty
        }
        let rest = bytes[end.upperBound...]
        guard let length = empty["Content-Length"].flatMap({ Int($0) }) else {
            guard isClosed else { return nil }
            bytes = []
            return RawReply(status: status, head: head, body: String(decoding: rest, as: UTF8.self))
        }
        guard rest.count >= length else { return nil }
        let body = String(decoding: rest.prefix(length), as: UTF8.self)
        bytes.removeFirst(end.upperBound + length)
        return RawReply(status: status, head: head, body: body)
    }
}
