import Foundation
import Glibc

/// A replica of the service that hears in a process of its own, which can be frozen and killed.
final class HearerProcess: Sendable {
    private let pid: pid_t

    /// - Parameter delay: how long its handler takes for an event, in ms, inside the transaction.
    init(_ world: World, delay: Int) throws {
        let program = try Self.executable().path
        let words = [
            program, world.postgres.connectionString, world.hearer.schema, world.nats.url, "hear", "\(delay)",
        ]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, mode) in [(Int32(0), O_RDONLY), (1, O_WRONLY), (2, O_WRONLY)] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", mode, 0)
        }
        var child: pid_t = 0
        guard posix_spawn(&child, program, &actions, nil, &arguments, environ) == 0 else {
            throw TimedOut(description: "cannot start \(program)")
        }
        pid = child
    }

    /// All its connections stay open, and nothing moves.
    func freeze() { kill(pid, SIGSTOP) }

    func wake() { kill(pid, SIGCONT) }

    /// `kill -9`, and waits until it is gone.
    func end() async {
        kill(pid, SIGKILL)
        var status: Int32 = 0
        while waitpid(pid, &status, WNOHANG) == 0 { try? await Task.sleep(for: .milliseconds(5)) }
    }

    private static func executable() throws -> URL {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        for _ in 0..<6 {
            let file = folder.appendingPathComponent("outbox-victim")
            if FileManager.default.isExecutableFile(atPath: file.path) { return file }
            folder.deleteLastPathComponent()
        }
        throw TimedOut(description: "no outbox-victim near \(CommandLine.arguments[0])")
    }
}
