private import Glibc
internal import Runtime

/// The listening socket that a supervisor opened for this process (sd_listen_fds(3)).
///
/// The supervisor keeps it open, and may give it to several gateways: while one of them restarts, clients that connect wait or go to another.
enum InheritedSocket {
    /// The first descriptor that the protocol uses.
    private static let first: Int32 = 3

    /// Takes the socket, once: later calls, and processes that this one starts, find none.
    ///
    /// - Returns: its descriptor, which now belongs to the caller; nil when there is none.
    /// - Throws: `Settings.Invalid` when it is no socket that TCP connections can be accepted from, or not the only one.
    static func take() throws(Settings.Invalid) -> Int32? {
        let environment = Console.environment()
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        guard try isOffered(environment, to: getpid()) else { return nil }
        guard option(SO_ACCEPTCONN, of: first) == 1, option(SO_TYPE, of: first) == Int32(SOCK_STREAM.rawValue) else {
            throw Settings.Invalid("LISTEN_FDS: descriptor \(first) is no listening stream socket.")
        }
        _ = fcntl(first, F_SETFD, FD_CLOEXEC)
        return first
    }

    /// Whether the environment offers one socket to this process. What it offers to another process was inherited by accident.
    ///
    /// - Throws: `Settings.Invalid` when it offers more than one.
    static func isOffered(_ environment: [String: String], to process: Int32) throws(Settings.Invalid) -> Bool {
        guard let count = environment["LISTEN_FDS"], environment["LISTEN_PID"] == "\(process)", count != "0" else { return false }
        guard count == "1" else { throw Settings.Invalid("LISTEN_FDS must be 1, not \(count): the gateway has one public port.") }
        return true
    }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
}
