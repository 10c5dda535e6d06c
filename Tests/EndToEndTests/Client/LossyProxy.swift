import Foundation
import Synchronization
import TestSupport

/// A network between a phone and the gateway that loses requests and replies, delivers a request twice, and delays both. It can be away as
/// a whole. Chance is seeded.
final class LossyProxy: Sendable {
    /// What happens to one request.
    enum Fate: CaseIterable, Sendable {
        /// Both ways work.
        case passes
        /// The request does not arrive.
        case losesRequest
        /// It takes effect, and the reply does not arrive.
        case losesReply
        /// It arrives twice; the reply is that to the second.
        case repeats
        /// It arrives twice at once; the reply is that to one of them.
        case repeatsAtOnce
        /// It arrives a moment later.
        case delays
    }

    let port: UInt16
    private let listener: Int32
    private let target: UInt16
    private let state: Mutex<State>

    private struct State {
        var dice: Seeded
        var isAway = false
        var loss: Int
        var counts: [Fate: Int] = [:]
    }

    /// - Parameters:
    ///   - target: the gateway's port.
    ///   - seed: of all chance.
    ///   - loss: of a hundred requests so many do not pass plainly.
    init(to target: UInt16, seed: UInt64, loss: Int) throws {
        self.target = target
        state = Mutex(State(dice: Seeded(seed), loss: loss))
        let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = HTTPClient.loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 && listen(socket, 128) == 0 && getsockname(socket, $0, &size) == 0
            }
        }
        guard isOpen else { throw Guardian.Failure(description: "no port: errno \(errno)") }
        listener = socket
        port = UInt16(bigEndian: address.sin_port)
        let reference = Reference(self)
        Thread.detachNewThread {
            while case let client = accept(socket, nil, nil), client >= 0 {
                Thread.detachNewThread {
                    while let proxy = reference.proxy, proxy.serveOne(client) {}
                    shutdown(client, Int32(SHUT_RDWR))
                    close(client)
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// While it is away, every connection ends at once.
    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

    /// How often each fate was a request's.
    var counts: [Fate: Int] { state.withLock { $0.counts } }

    private func draw() -> Fate? {
        state.withLock { state in
            guard !state.isAway else { return nil }
            let fate = state.dice.chance(state.loss) ? state.dice.pick(Array(Fate.allCases.dropFirst())) : .passes
            state.counts[fate, default: 0] += 1
            return fate
        }
    }

    /// Serves one request of a connection. False when the connection is to end.
    private func serveOne(_ client: Int32) -> Bool {
        guard let request = Self.read(client, isRequest: true), let fate = draw() else { return false }
        switch fate {
        case .passes: return pass(request, client)
        case .losesRequest: return false
        case .losesReply:
            _ = forward(request)
            return false
        case .repeats:
            _ = forward(request)
            return pass(request, client)
        case .repeatsAtOnce:
            Thread.detachNewThread { [self] in _ = forward(request) }
            return pass(request, client)
        case .delays:
            usleep(30_000)
            return pass(request, client)
        }
    }

    private func pass(_ request: Data, _ client: Int32) -> Bool {
        guard let reply = forward(request), Self.send(client, reply) else { return false }
        return !String(decoding: request.prefix(4_096), as: UTF8.self).lowercased().contains("connection: close")
    }

    /// The gateway's reply on a connection of its own.
    private func forward(_ request: Data) -> Data? {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(server) }
        var address = HTTPClient.loopback(target)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected, Self.send(server, request) else { return nil }
        return Self.read(server, isRequest: false)
    }

    private static func send(_ socket: Int32, _ data: Data) -> Bool {
        var rest = Array(data)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// One message with a length, as both sides of these tests send them.
    private static func read(_ socket: Int32, isRequest: Bool) -> Data? {
        var buffer = Data()
        let gap = Data("\r\n\r\n".utf8)
        while true {
            if let end = buffer.range(of: gap) {
                let head = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).lowercased()
                let length =
                    head.components(separatedBy: "\r\n").compactMap { line in
                        line.hasPrefix("content-length:") ? Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces)) : nil
                    }.first ?? 0
                if buffer.distance(from: end.upperBound, to: buffer.endIndex) >= length { return buffer }
            }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count > 0 else { return nil }
            buffer += bytes[..<count]
        }
    }
}

private final class Reference: @unchecked Sendable {
    weak var proxy: LossyProxy?
    init(_ proxy: LossyProxy) { self.proxy = proxy }
}
