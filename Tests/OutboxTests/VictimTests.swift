import Foundation
import Kernel
import Processes
import Synchronization
import TestSupport
import Testing

private struct VictimEnded: Error {}

@Suite("A process killed between commit and publish", .serialized, .timeLimit(.minutes(10)))
struct VictimTests {
    @Test func `again and again: each committed event has exactly one effect`() async throws {
        let lives = TestDepth.pick(quick: 6, full: 30)
        try await withWorld { world in
            _ = try await world.sink()
            var random = SystemRandomNumberGenerator()
            var acknowledged = 0
            for life in 0..<lives {
                acknowledged = max(
                    acknowledged,
                    try await oneLife(world, life, for: .milliseconds(Int.random(in: 10...120, using: &random)))
                )
            }
            try await eventually("the server has done what they had sent") {
                try await world.source.query("SELECT 1 FROM pg_stat_activity WHERE application_name = 'outbox-victim'").isEmpty
            }
            // One more replica sends what they left behind.
            let survivor = try await world.emitter()
            try await eventually("the outbox is empty", within: .seconds(60)) { try await survivor.relay.backlog() == 0 }
            let committed = try await world.source.query("SELECT count(*) FROM outbox").first?.decode(as: Int.self) ?? 0
            #expect(committed > lives)
            try await eventually("everything is consumed") { try await world.consumedCount() >= committed }
            #expect(try await world.consumedCount() == committed)
            for life in 0..<lives {
                let consumed = try await world.consumed("life\(life)")
                #expect(consumed == Array(0..<consumed.count))
            }
        }
    }

    /// Runs the victim until it has reported a commit and `time` has passed, and kills it.
    private func oneLife(_ world: World, _ life: Int, for time: Duration) async throws -> Int {
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("victim-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: output) }
        let process = try await ChildProcess.spawn(
            Command(
                executable: builtProgram("outbox-victim").path,
                arguments: [world.postgres.connectionString, world.source.schema, world.nats.url, "life\(life)"],
                environment: Command.inherited(),
                output: output
            )
        )
        try await eventually("the victim commits") {
            guard !process.hasExited else { throw VictimEnded() }
            return FileManager.default.contents(atPath: output)?.isEmpty == false
        }
        try await Task.sleep(for: time)
        process.signal(SIGKILL)
        _ = await process.waitForExit()
        return 1
    }
}
