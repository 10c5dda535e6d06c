import Foundation
import Processes
import TestSupport

/// A replica of the service that consumes, in a process of its own, which can be frozen and killed.
final class ConsumerProcess: Sendable {
    private let child: ChildProcess

    /// - Parameter delay: how long its handler takes for an event, in ms, inside the transaction.
    init(_ world: World, delay: Int) async throws {
        child = try await ChildProcess.spawn(
            Command(
                executable: builtProgram("outbox-victim").path,
                arguments: [world.postgres.connectionString, world.sink.schema, world.nats.url, "consume", "\(delay)"],
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
}
