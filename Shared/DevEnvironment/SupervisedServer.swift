private import Glibc
internal import Logging
internal import Processes
private import Synchronization

/// A server of ours that is started again when it ends by itself.
final class SupervisedServer: Sendable {
    private struct State {
        var child: ChildProcess?
        var isStopping = false
        var watch: Task<Void, Never>?
    }

    let name: String
    private let command: Command
    private let stopSignals: [Int32]
    private let pidFile: String?
    private let logger: Logger
    private let state = Mutex(State())

    /// A server that is not running yet.
    ///
    /// - Parameters:
    ///   - stopSignals: Sent one after the other while it does not end; SIGKILL comes last by itself.
    ///   - pidFile: Holds the id of its process while there is one.
    init(name: String, command: Command, stopSignals: [Int32], pidFile: String? = nil, logger: Logger) {
        self.name = name
        self.command = command
        self.stopSignals = stopSignals
        self.pidFile = pidFile
        self.logger = logger
    }

    var processID: Int32? { state.withLock { $0.child?.pid } }

    /// Starts the server and waits until `isReady`; from then on it is supervised.
    ///
    /// - Throws: `DevEnvironmentError` with the last lines of its log when it ends or is not ready in time; it is ended then.
    func start(timeout: Duration, isReady: @Sendable () async -> Bool) async throws {
        let child = try await spawn()
        let deadline = ContinuousClock.now + timeout
        do {
            while !(await isReady()) {
                guard !child.hasExited else { throw failure("ended while starting") }
                guard ContinuousClock.now < deadline else { throw failure("was not ready within \(timeout)") }
                try await Task.sleep(for: .milliseconds(20))
            }
            // Another process may be answering on the port.
            guard !child.hasExited else { throw failure("ended while starting") }
        } catch {
            child.signal(SIGKILL)
            _ = await child.waitForExit()
            throw error
        }
        state.withLock { state in
            state.child = child
            state.isStopping = false
            state.watch = Task { [weak self] in await self?.watch(child) }
        }
    }

    /// Asks the server to end, and makes it when it does not.
    func stop(grace: Duration = .seconds(20)) async {
        let (child, watch) = state.withLock { state in
            state.isStopping = true
            return (state.child, state.watch)
        }
        watch?.cancel()
        if let child {
            let ending = Task {
                for signal in stopSignals + [SIGKILL] {
                    child.signal(signal)
                    guard (try? await Task.sleep(for: grace)) != nil else { return }
                    logger.warning("server does not stop", metadata: ["server": "\(name)", "signal": "\(signal)"])
                }
            }
            _ = await child.waitForExit()
            ending.cancel()
        }
        await watch?.value
        // A restart may have been under way while we asked the child before it.
        if let late = state.withLock({ $0.child }), late !== child {
            late.signal(SIGKILL)
            _ = await late.waitForExit()
        }
        state.withLock { $0.child = nil }
        if let pidFile { unlink(pidFile) }
    }

    /// Ends the server, which is then started again. Returns when the process that runs now has ended; does nothing while none runs.
    ///
    /// - Parameter grace: how long it may take to end by itself. Not long: one that hangs does not react.
    func restart(grace: Duration = .seconds(3)) async {
        guard let child = state.withLock({ $0.isStopping ? nil : $0.child }) else { return }
        child.signal(SIGTERM)
        let ending = Task {
            if (try? await Task.sleep(for: grace)) != nil { child.signal(SIGKILL) }
        }
        _ = await child.waitForExit()
        ending.cancel()
    }

    private func spawn() async throws -> ChildProcess {
        let child = try await ChildProcess.spawn(command)
        guard let pidFile else { return child }
        do { try Files.write("\(child.pid)\n", to: pidFile, mode: 0o644) } catch {
            logger.warning("the process id was not written", metadata: ["server": "\(name)", "file": "\(pidFile)"])
        }
        return child
    }

    private func watch(_ first: ChildProcess) async {
        var child = first
        var pause = RestartPause()
        while true {
            let started = ContinuousClock.now
            let status = await child.waitForExit()
            if state.withLock({ $0.isStopping }) { return }
            pause.ended(after: ContinuousClock.now - started)
            logger.error("server ended and is started again", metadata: ["server": "\(name)", "status": "\(status)"])
            while true {
                guard (try? await Task.sleep(for: pause.next())) != nil else { return }
                do {
                    child = try await spawn()
                    break
                } catch {
                    logger.error("server cannot be started again", metadata: ["server": "\(name)", "cause": "\(error)"])
                }
            }
            let next = child
            state.withLock { $0.child = next }
            if state.withLock({ $0.isStopping }) { return }
        }
    }

    private func failure(_ what: String) -> DevEnvironmentError {
        DevEnvironmentError(
            "\(name) \(what). The end of \(command.output):\n\(Files.tail(command.output))",
            wayOut: "See the log for the cause."
        )
    }
}

/// How long a server that ended by itself is left alone before it is started again: 0.2 s at first, each time twice as long, at most 5 s.
struct RestartPause: Equatable {
    private static let first = Duration.milliseconds(200)
    private var pause = first

    /// The pause before the next start.
    mutating func next() -> Duration {
        defer { pause = min(pause * 2, .seconds(5)) }
        return pause
    }

    /// A server that ran ten times longer than it would now be away is not one that cannot start: it is back at once.
    mutating func ended(after running: Duration) {
        if running > pause * 10 { pause = Self.first }
    }
}

/// A server of an earlier run that is still ending, found by the file with its process id.
enum Leftover {
    /// Waits until it has ended. It was asked to when its parent ended.
    ///
    /// - Parameters:
    ///   - file: Its first line is the process id.
    ///   - mark: Part of its command line, so that another process with that id is not mistaken for it.
    static func wait(file: String, mark: String, name: String) async throws {
        guard let pid = try process(in: file) else { return }
        let deadline = ContinuousClock.now + .seconds(20)
        while let commandLine = try? Files.read("/proc/\(pid)/cmdline"), commandLine.contains(mark) {
            guard ContinuousClock.now < deadline else {
                throw DevEnvironmentError(
                    "\(name) of an earlier run is still there as process \(pid).",
                    wayOut: "End it: kill \(pid)"
                )
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Removes the file of a server that was killed, whose process id another process has by now: PostgreSQL takes that for its server and
    /// does not start. In a container, where ids begin at 1 at each start, it is often a thread of this process.
    ///
    /// Only for the holder of the folder's lock, and after `wait`.
    static func remove(file: String) throws {
        guard let pid = try process(in: file), kill(pid, 0) == 0 else { return }
        unlink(file)
    }

    /// The process id in the first line of a file; nil without one.
    private static func process(in file: String) throws -> Int32? {
        guard Files.exists(file) else { return nil }
        return try Files.read(file).split(separator: "\n").first.flatMap { Int32($0) }
    }
}
