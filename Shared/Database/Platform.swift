internal import CEpoll
internal import Glibc

/// Monotonic nanoseconds. Only for waits, never for domain time.
func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Runs `body` on a detached thread of its own. False when the system has no more threads.
func spawnThread(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    // Enough for TLS and name resolution; the default of 8 MB would waste address space.
    pthread_attr_setstacksize(&attributes, 1 << 20)
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
