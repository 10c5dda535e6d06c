private import Foundation
private import Synchronization

/// A collector of spans for tests: keeps what it is sent, or is as difficult as a test wants.
public final class TestCollector: Sendable {
    /// The system did not give a port.
    public struct Failure: Error {}

    /// What a sender meets.
    public enum Manner: Sendable {
        /// Takes everything and answers with this status.
        case answers(Int)
        /// Takes everything and says nothing.
        case silent
    }

    /// One HTTP request.
    public struct Request: Sendable {
        /// The request line and headers.
        public let head: String
        /// The bytes after them.
        public let body: [UInt8]
    }

    private struct State {
        var manner: Manner
        var requests: [Request] = []
        var open: [Int32] = []
        var isOver = false
    }

    /// Where it listens on 127.0.0.1.
    public let port: UInt16
    private let listener: Int32
    private let state: Mutex<State>

    /// Listens on a free port.
    public init(_ manner: Manner = .answers(200)) throws {
        state = Mutex(State(manner: manner))
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 64) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isListening else {
            close(descriptor)
            throw Failure()
        }
        port = UInt16(bigEndian: address.sin_port)
        let thread = Thread { [weak self] in
            while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                guard let self else {
                    close(connection)
                    break
                }
                self.serve(connection)
            }
            // Here, or the thread might accept from another socket that has got its number.
            close(descriptor)
        }
        thread.stackSize = 1 << 19
        thread.start()
    }

    deinit { stop() }

    /// `http://127.0.0.1:4318`.
    public var endpoint: String { "http://127.0.0.1:\(port)" }

    /// What it was sent, in order.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// From now on.
    public func behave(_ manner: Manner) { state.withLock { $0.manner = manner } }

    /// Ends it; connections are refused from now on.
    public func stop() {
        let open = state.withLock { state -> [Int32]? in
            defer { (state.isOver, state.open) = (true, []) }
            return state.isOver ? nil : state.open
        }
        guard let open else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in open { close(connection) }
    }

    private func serve(_ connection: Int32) {
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard let request = Self.read(connection) else {
            close(connection)
            return
        }
        let manner = state.withLock { state in
            state.requests.append(request)
            if case .silent = state.manner { state.open.append(connection) }
            return state.manner
        }
        guard case .answers(let status) = manner else { return }
        let reply = Array("HTTP/1.1 \(status) x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".utf8)
        _ = send(connection, reply, reply.count, Int32(MSG_NOSIGNAL))
        close(connection)
    }

    private static func read(_ connection: Int32) -> Request? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let separator = Array("\r\n\r\n".utf8)
        while true {
            if let end = bytes.firstRange(of: separator) {
                let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
                let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst("content-length:".count).filter { $0 != " " }) }
                let body = bytes[end.upperBound...]
                if body.count >= length ?? 0 { return Request(head: head, body: Array(body)) }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }
}
