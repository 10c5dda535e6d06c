import Foundation
import Synchronization

/// A request of which only a part is sent, on a connection that stays open until this is released.
final class HalfRequest: Sendable {
    private let descriptor: Int32
    private let reply = Mutex<(bytes: [UInt8], isClosed: Bool)>(([], false))

    init(_ bytes: ArraySlice<UInt8>, to port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = HTTPClient.loopback(port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw Guardian.Failure(description: "no connection: \(errno)") }
        var rest = bytes
        while !rest.isEmpty {
            let count = send(rest)
            guard count > 0 else { throw Guardian.Failure(description: "the connection was closed: \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends more of it, if the server still takes it: how many bytes it took.
    @discardableResult func send(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// What has been answered by now, and whether the server has hung up.
    func answer() -> (text: String, isClosed: Bool) {
        reply.withLock { reply in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while !reply.isClosed {
                let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                if count > 0 { reply.bytes += buffer[..<count] }
                if count < 0, errno == EAGAIN || errno == EINTR { break }
                if count <= 0 { reply.isClosed = true }
            }
            return (String(decoding: reply.bytes, as: UTF8.self), reply.isClosed)
        }
    }

    deinit { close(descriptor) }
}
