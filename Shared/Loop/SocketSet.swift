internal import CEpoll
internal import Glibc

/// Sockets that are watched together (epoll(7)), each with a mark by which it is known. It can be watched itself, as one socket of another set.
///
/// Any thread may change it; one thread waits.
public final class SocketSet: @unchecked Sendable {
    /// Readable when one of its sockets is ready.
    public let descriptor: Int32
    private let events: UnsafeMutablePointer<epoll_event>
    private let capacity: Int

    /// An empty set.
    ///
    /// - Parameter capacity: how many are found ready at once; further ones are found by the next wait.
    /// - Returns: nil when the system has no more descriptors.
    public init?(capacity: Int = 16) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        self.capacity = capacity
        events = .allocate(capacity: capacity)
    }

    deinit {
        close(descriptor)
        events.deallocate()
    }

    /// Watches a socket for something to read.
    public func watch(_ socket: Int32, mark: UInt64 = 0) { control(EPOLL_CTL_ADD, socket, mark, EPOLLIN.rawValue) }

    /// Watches a socket of the set for room to write as well, or no longer.
    public func watchWriting(_ socket: Int32, mark: UInt64 = 0, _ wanted: Bool) {
        control(EPOLL_CTL_MOD, socket, mark, wanted ? EPOLLIN.rawValue | EPOLLOUT.rawValue : EPOLLIN.rawValue)
    }

    /// Watches it no longer.
    public func unwatch(_ socket: Int32) { control(EPOLL_CTL_DEL, socket, 0, 0) }

    /// Waits until a socket is ready.
    ///
    /// - Parameters:
    ///   - milliseconds: how long; -1 without limit.
    ///   - ready: gets the mark of each that is ready.
    public func wait(milliseconds: Int32, _ ready: (UInt64) -> Void) {
        let count = epoll_wait(descriptor, events, Int32(capacity), milliseconds)
        for index in 0..<Int(max(0, count)) { ready(events[index].data.u64) }
    }

    private func control(_ operation: Int32, _ socket: Int32, _ mark: UInt64, _ interest: UInt32) {
        var event = epoll_event(events: interest, data: epoll_data_t(u64: mark))
        epoll_ctl(descriptor, operation, socket, &event)
    }
}

/// Wakes a thread that waits for a `SocketSet` (eventfd(2)).
public final class WakeUp: Sendable {
    /// Readable from `signal` to `reset`.
    public let descriptor: Int32

    /// - Returns: nil when the system has no more descriptors.
    public init?() {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Makes it readable.
    public func signal() { eventfd_write(descriptor, 1) }

    /// Makes it unreadable.
    public func reset() {
        var count: eventfd_t = 0
        eventfd_read(descriptor, &count)
    }
}
