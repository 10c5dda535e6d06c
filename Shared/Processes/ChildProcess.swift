private import CSpawn
private import Foundation
private import Glibc
private import Synchronization

/// A running child process.
///
/// It inherits only three descriptors, and the command's listening socket if there is one, and blocks no signal. Its parent-death signal
/// depends on the *thread* that made it (prctl(2)), so all children are made on one thread that never ends.
package final class ChildProcess: Sendable {
    package let pid: Int32
    private let exit = Mutex<ExitState>(ExitState())

    private struct ExitState {
        var status: Int32?
        var waiters: [CheckedContinuation<Int32, Never>] = []
    }

    private init(pid: Int32) { self.pid = pid }

    /// Starts a child in a process group of its own, so that Ctrl-C in the terminal reaches only the parent.
    ///
    /// - Throws: `ProcessError` when it cannot be started.
    package static func spawn(_ command: Command) async throws -> ChildProcess {
        guard let launcher = Command.find("setpriv") else { throw ProcessError(description: "setpriv is not installed") }
        guard let executable = Command.find(command.executable) else {
            throw ProcessError(description: "cannot find the program \(command.executable)")
        }
        return try await withCheckedThrowingContinuation { continuation in
            SpawnThread.shared.perform {
                continuation.resume(with: Result { try start(command, executable: executable, launcher: launcher) })
            }
        }
    }

    /// Sends a signal, unless the child has ended.
    package func signal(_ signal: Int32) {
        // Under the lock of the reaping, so the id cannot belong to another process.
        exit.withLock { if $0.status == nil { kill(pid, signal) } }
    }

    package var hasExited: Bool { exit.withLock { $0.status != nil } }

    /// Waits for the end. Returns the exit code, or 128 + the signal that ended it.
    package func waitForExit() async -> Int32 {
        await withCheckedContinuation { continuation in
            let status = exit.withLock { exit -> Int32? in
                if exit.status == nil { exit.waiters.append(continuation) }
                return exit.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    private static func start(_ command: Command, executable: String, launcher: String) throws -> ChildProcess {
        var arguments = [launcher, "--pdeathsig", command.deathSignal]
        if let user = command.user { arguments += ["--reuid=\(user)", "--regid=\(user)", "--init-groups"] }
        arguments.append("--")
        // LISTEN_PID must be the child's id, which only the child knows before it runs.
        if command.listener != nil {
            arguments += ["/bin/sh", "-c", "LISTEN_FDS=1 LISTEN_PID=$$; export LISTEN_FDS LISTEN_PID; exec \"$@\"", "sh"]
        }
        arguments += [executable] + command.arguments
        let environment = command.environment.map { "\($0.key)=\($0.value)" }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, command.input ?? "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, command.output, O_WRONLY | O_CREAT | O_APPEND, 0o640)
        if let errors = command.errors {
            posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o640)
        } else {
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        }
        if let listener = command.listener { posix_spawn_file_actions_adddup2(&actions, listener.descriptor, 3) }
        // The child must not inherit descriptors that other threads open, before this or meanwhile.
        posix_spawn_file_actions_addclosefrom_np(&actions, command.listener == nil ? 3 : 4)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        var pid: pid_t = 0
        let failure = withCStrings(arguments) { arguments in
            withCStrings(environment) { posix_spawn(&pid, launcher, &actions, &attributes, arguments, $0) }
        }
        guard failure == 0 else {
            throw ProcessError(
                description:
                    "cannot start \(executable) with output to \(command.output): \(String(cString: strerror(failure)))"
            )
        }
        let child = ChildProcess(pid: pid)
        let waiter = Thread { child.reap() }
        waiter.name = "wait-\(pid)"
        waiter.stackSize = 1 << 17
        waiter.start()
        return child
    }

    private func reap() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        let (status, waiters) = exit.withLock { exit in
            var raw: Int32 = 0
            waitpid(pid, &raw, 0)
            let status = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + raw & 0x7F
            exit.status = status
            defer { exit.waiters = [] }
            return (status, exit.waiters)
        }
        for waiter in waiters { waiter.resume(returning: status) }
    }
}

/// Calls with a null-terminated array of C strings.
private func withCStrings<Result>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
    let pointers = strings.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers + [nil])
}

/// The thread that makes all children; it lives as long as the process.
private final class SpawnThread: Sendable {
    static let shared = SpawnThread()
    private let queue = Mutex<[@Sendable () -> Void]>([])
    private let wakeUp = DispatchSemaphore(value: 0)

    private init() {
        let thread = Thread { [self] in
            while true {
                wakeUp.wait()
                queue.withLock { $0.isEmpty ? nil : $0.removeFirst() }?()
            }
        }
        thread.name = "spawn"
        thread.start()
    }

    func perform(_ work: @escaping @Sendable () -> Void) {
        queue.withLock { $0.append(work) }
        wakeUp.signal()
    }
}
