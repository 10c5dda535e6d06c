import Foundation
import Synchronization

/// A program that lives no longer than this process, however this process ends.
///
/// A shell stands between: it ends the program and removes its folder when its standard input, a pipe of ours, is closed.
final class Guardian: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let script = """
        folder=$1; log=$2; shift 2
        "$@" </dev/null >>"$log" 2>&1 &
        program=$!
        echo "$program" >"$folder/pid.new" && mv "$folder/pid.new" "$folder/pid"
        read -r _
        kill -TERM "$program" 2>/dev/null
        ( sleep 20; kill -KILL "$program" 2>/dev/null ) &
        late=$!
        wait "$program"
        kill "$late" 2>/dev/null
        # What the program started may still write for a moment when it was ended early.
        for again in 1 2 3 4 5; do rm -rf "$folder" 2>/dev/null && break; sleep 1; done
        """

    /// The folder that goes with the program.
    let folder: URL
    /// Where the program's output goes.
    let log: URL
    private let shell: pid_t
    private let input: Int32

    /// - Parameter folder: exists, and is removed after the program has ended.
    init(_ command: [String], environment: [String: String] = [:], folder: URL) throws {
        self.folder = folder
        self.log = folder.appending(path: "up.log")
        let ends = try Self.pipe()
        defer { close(ends[0]) }
        let arguments = ["/bin/sh", "-c", Self.script, "guardian", folder.path, log.path] + command
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        // The test process's output may be a pipe that somebody reads to its end.
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        shell = try Self.spawn(arguments, ProcessInfo.processInfo.environment.merging(environment) { $1 }, &actions)
        input = ends[1]
    }

    /// The program's process id, once it has started.
    var programID: pid_t? { Files.text(folder.appending(path: "pid")).flatMap { pid_t($0) } }

    /// Whether the program runs.
    var isRunning: Bool { programID.map { kill($0, 0) == 0 } ?? true }

    /// Ends the program and waits until it is gone.
    func end() async {
        close(input)
        await Workers.run { [shell] in
            var status: Int32 = 0
            while waitpid(shell, &status, 0) < 0, errno == EINTR {}
        }
    }

    /// Two connected ends. Closed on exec from the beginning: no other child may keep one open.
    static func pipe() throws -> [Int32] {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Failure(description: "no pipe: \(errno)")
        }
        return ends
    }

    /// Starts a child in a process group of its own, with no signal blocked.
    static func spawn(
        _ arguments: [String],
        _ environment: [String: String],
        _ actions: inout posix_spawn_file_actions_t
    ) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        var list: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in list + variables { free(text) } }
        var child: pid_t = 0
        let status = posix_spawn(&child, arguments[0], &actions, &attributes, &list, &variables)
        guard status == 0 else { throw Failure(description: "cannot start \(arguments[0]): \(status)") }
        return child
    }
}

/// A program that is run to its end.
enum Command {
    /// - Returns: What it wrote to standard output, without the last line break.
    /// - Throws: `Guardian.Failure` when it does not end with 0.
    static func output(_ arguments: [String], environment: [String: String]) async throws -> String {
        try await Workers.run {
            let ends = try Guardian.pipe()
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
            let child = try Guardian.spawn(arguments, environment, &actions)
            close(ends[1])
            var output: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while true {
                let count = read(ends[0], &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                output += buffer[..<count]
            }
            close(ends[0])
            var status: Int32 = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            guard status == 0 else { throw Guardian.Failure(description: "\(arguments[0]) ended with \(status)") }
            return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .newlines)
        }
    }
}

/// Threads for what blocks, so that it never holds up the tests' own.
enum Workers {
    private static let queue = DispatchQueue(label: "end-to-end.workers", attributes: .concurrent)

    static func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result { try work() }) }
        }
    }

    static func run(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            queue.async {
                work()
                continuation.resume()
            }
        }
    }
}

/// Small files.
enum Files {
    /// The text of a file without surrounding white space; nil when there is none.
    static func text(_ url: URL) -> String? {
        (try? String(contentsOf: url, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Every ordinary file below a folder.
    static func all(below folder: URL) -> [URL] {
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        return (found?.allObjects as? [URL] ?? []).filter {
            (try? $0.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true
        }
    }
}
