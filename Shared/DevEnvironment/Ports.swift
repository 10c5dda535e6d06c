private import Glibc

/// A TCP port that is about to be listened on.
public enum ListeningPort {
    /// Makes sure that it can be: it is free, and the address is this machine's.
    ///
    /// - Parameters:
    ///   - port: 1…65535.
    ///   - host: an IPv4 address of this machine, or 0.0.0.0 for all.
    ///   - purpose: what it is meant for; `the public API`.
    ///   - option: with which another can be chosen.
    /// - Throws: `DevEnvironmentError` that names the port and the option.
    public static func check(_ port: Int, of host: String, for purpose: String, option: String) throws(DevEnvironmentError) {
        guard port > 0, let number = UInt16(exactly: port) else {
            throw DevEnvironmentError("\(port) is no port.", wayOut: "Give one from 1 to 65535 with \(option).")
        }
        guard Ports.bound(to: number, of: host) == nil else { return }
        let reason = errno
        throw DevEnvironmentError(
            "Port \(port) of \(host), meant for \(purpose), cannot be used: \(Files.reason(reason)).",
            wayOut: reason == EADDRNOTAVAIL
                ? "Name an address of this machine, or 0.0.0.0 for all."
                : "Stop what listens there, or choose another with \(option)."
        )
    }
}

/// A port of 127.0.0.1 that this process keeps for a server that listens on it later, and allows to share it (`SO_REUSEADDR`).
///
/// A port that was only found to be free could meanwhile become that of a connection: a system opens dozens of them while it starts.
public final class ReservedPort: Sendable {
    /// 1…65535.
    public let port: Int
    private let descriptor: Int32

    /// A port that was free.
    ///
    /// - Throws: `DevEnvironmentError` when there is none.
    public init() throws(DevEnvironmentError) {
        guard let (descriptor, port) = Ports.socket(boundTo: 0, of: "127.0.0.1") else {
            throw DevEnvironmentError("There is no free port on 127.0.0.1.", wayOut: "Stop something that listens.")
        }
        (self.descriptor, self.port) = (descriptor, Int(port))
    }

    deinit { close(descriptor) }
}

/// TCP ports of 127.0.0.1.
enum Ports {
    /// A port that is free now.
    static func free() throws(DevEnvironmentError) -> UInt16 {
        guard let port = bound(to: 0) else {
            throw DevEnvironmentError("There is no free port on 127.0.0.1.", wayOut: "Stop something that listens.")
        }
        return port
    }

    /// Makes sure that a port can be listened on.
    static func check(_ port: UInt16, for server: String, option: String) throws(DevEnvironmentError) {
        try ListeningPort.check(Int(port), of: "127.0.0.1", for: server, option: option)
    }

    /// The port that was bound, and is free again; nil with the reason in `errno`.
    static func bound(to port: UInt16, of host: String = "127.0.0.1") -> UInt16? {
        guard let (descriptor, port) = socket(boundTo: port, of: host) else { return nil }
        close(descriptor)
        return port
    }

    /// A bound socket that does not listen, to be closed by the caller, and its port; nil with the reason in `errno`.
    static func socket(boundTo port: UInt16, of host: String) -> (descriptor: Int32, port: UInt16)? {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var number: UInt16?
        if inet_pton(AF_INET, host, &address.sin_addr) == 1 {
            number = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> UInt16? in
                    guard bind(descriptor, generic, length) == 0, getsockname(descriptor, generic, &length) == 0 else {
                        return nil
                    }
                    return generic.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                        UInt16(bigEndian: $0.pointee.sin_port)
                    }
                }
            }
        } else {
            errno = EADDRNOTAVAIL
        }
        if let number { return (descriptor, number) }
        // Closing may set another.
        let reason = errno
        close(descriptor)
        errno = reason
        return nil
    }

    /// What a server says first when one connects; nil when it says nothing within a second. Blocks.
    static func greeting(of port: UInt16) -> String? {
        guard let descriptor = connected(to: port, timeout: 1) else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    /// A connection, to be closed by the caller; nil when there is none.
    ///
    /// - Parameter timeout: how long receiving waits, in seconds.
    static func connected(to port: UInt16, timeout: Int) -> Int32? {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
