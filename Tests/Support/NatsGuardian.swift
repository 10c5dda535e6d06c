import Glibc
import Synchronization

/// A child process that lives as long as our end of its standard input is open.
///
/// Spawned without Foundation's `Process`, which hands on the signal mask of a Dispatch thread: a shell then never hears of its
/// children's end.
final class Guardian: Sendable {
    private let pid: pid_t
    private let input: Int32
    private let output: Int32

    /// Between making a pipe and closing it on exec no other child may be spawned: it would keep our end open.
    private static let spawning = Mutex(())

    static func spawn(_ command: [String]) throws -> Guardian { try spawning.withLock { _ in try Guardian(command) } }

    private init(_ command: [String]) throws {
        var toChild: [Int32] = [0, 0]
        var fromChild: [Int32] = [0, 0]
        guard pipe(&toChild) == 0, pipe(&fromChild) == 0 else { throw NatsServer.Failure(description: "no pipe") }
        for end in toChild + fromChild { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let status = posix_spawn(&child, command[0], &actions, &attributes, &arguments, environ)
        close(toChild[0])
        close(fromChild[1])
        (pid, input, output) = (child, toChild[1], fromChild[0])
        guard status == 0 else { throw NatsServer.Failure(description: "cannot start \(command)") }
    }

    /// The first line it writes.
    func readLine() -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        close(output)
        return String(decoding: line, as: UTF8.self)
    }

    /// Closes its input and waits until it is gone.
    func end() {
        close(input)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    }
}
