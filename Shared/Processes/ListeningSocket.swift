private import Glibc

/// A listening TCP socket for children to accept from (`Command.listener`). It stays open while they restart, so that clients that connect
/// meanwhile wait instead of being refused. Closed when it is released.
package final class ListeningSocket: Sendable {
    /// Connections that may wait to be accepted; the kernel's `net.core.somaxconn` may allow fewer.
    private static let backlog: Int32 = 4_096

    /// Where it listens.
    package let port: UInt16
    let descriptor: Int32

    /// Listens from now on.
    ///
    /// - Parameters:
    ///   - host: an IPv4 address of this machine; 0.0.0.0 for all.
    ///   - port: 0 for a free one.
    /// - Throws: `ProcessError` when the address cannot be listened on.
    package init(host: String = "127.0.0.1", port: UInt16 = 0) throws {
        // Not inherited unless a command names it.
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ProcessError(description: "no socket: \(String(cString: strerror(errno)))") }
        var isOn: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, Self.backlog) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isListening else {
            let cause = String(cString: strerror(errno))
            close(descriptor)
            throw ProcessError(description: "cannot listen on \(host):\(port): \(cause)")
        }
        self.port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
