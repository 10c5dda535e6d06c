internal import CEpoll
internal import Glibc

/// Nanoseconds of the monotonic clock. Only for waits, never for domain time.
public func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The processor time that this thread has used, in nanoseconds.
func threadNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Runs `body` on a detached thread of its own.
///
/// - Parameters:
///   - name: of the thread, at most 15 bytes.
///   - stack: its size in bytes.
/// - Returns: false when the system has no more threads.
public func spawnThread(named name: String, stack: Int = 1 << 20, _ body: @escaping @Sendable () -> Void) -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    // The default is enough for TLS and name resolution; the system's 8 MB would waste address space.
    pthread_attr_setstacksize(&attributes, stack)
    let argument = Unmanaged.passRetained(ThreadBody(name: name, body: body))
    var thread = pthread_t()
    guard pthread_create(&thread, &attributes, runThread, argument.toOpaque()) == 0 else {
        argument.release()
        return false
    }
    return true
}

private final class ThreadBody: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let thread = Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue()
    name_current_thread(thread.name)
    thread.body()
    return nil
}
