internal import Dispatch
private import Glibc
private import Synchronization

/// SIGTERM, SIGINT, and SIGHUP of a terminal that is closed, which ask a program to stop. Under `nohup` SIGHUP stays ignored.
///
/// To be made once in a process, and never given up: a further signal while the program stops changes nothing.
public struct StopSignals: Sendable {
    private let came: AsyncStream<Void>

    /// From now on these signals do not end the process, but `first` returns. To be made before the program says that it runs.
    ///
    /// - Throws: `ProgramCommand.Failure` when the operating system has no pipe left.
    public init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw ProgramCommand.Failure("signals cannot be caught: \(String(cString: strerror(errno)))")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        noted.store(ends[1], ordering: .sequentiallyConsistent)
        let (came, end) = AsyncStream.makeStream(of: Void.self)
        self.came = came
        let source = DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: DispatchQueue(label: "signals"))
        source.setEventHandler {
            end.finish()
            // It lives until here, for the handler holds it.
            source.cancel()
        }
        source.activate()
        for signal in [SIGTERM, SIGINT] + (Self.ignoresHangUp ? [] : [SIGHUP]) {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = note
            action.sa_flags = SA_RESTART
            sigaction(signal, &action, nil)
        }
    }

    private static var ignoresHangUp: Bool {
        var action = sigaction()
        guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Returns at the first signal, also at one that came since the trap was set. To be called once.
    public func first() async { for await _ in came {} }
}

/// Where a signal is noted: the end of a pipe that is written to.
private let noted = Atomic<Int32>(-1)

/// What the signals call, on any thread and between any two instructions: it may do nothing but write. A pipe that is full says enough.
private func note(_: Int32) {
    let before = errno
    var byte: UInt8 = 1
    _ = write(noted.load(ordering: .relaxed), &byte, 1)
    errno = before
}
