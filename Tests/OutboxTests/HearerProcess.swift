import Foundation
import Processes

/// A replica of the service that hears in a process of its own, which can be frozen and killed.
final class HearerProcess: Sendable {
    private let child: ChildProcess

    /// - Parameter delay: how long its handler takes for an event, in ms, inside the transaction.
    init(_ world: World, delay: Int) async throws {
        child = try await ChildProcess.spawn(
            Command(
                executable: Self.executable().path,
                arguments: [world.postgres.connectionString, world.hearer.schema, world.nats.url, "hear", "\(delay)"],
                environment: Command.inherited(),
                output: "/dev/null"
            )
        )
    }

    /// All its connections stay open, and nothing moves.
    func freeze() { child.signal(SIGSTOP) }

    func wake() { child.signal(SIGCONT) }

    /// `kill -9`, and waits until it is gone.
    func end() async {
        child.signal(SIGKILL)
        _ = await child.waitForExit()
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
