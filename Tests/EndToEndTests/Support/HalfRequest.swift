import Foundation

/// A request of which only a part is sent, on a connection that stays open until this is released.
final class HalfRequest: Sendable {
    private let descriptor: Int32

    init(_ bytes: [UInt8], to port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = HTTPClient.loopback(port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw Guardian.Failure(description: "no connection: \(errno)") }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Guardian.Failure(description: "the connection was closed: \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    deinit { close(descriptor) }
}
