import Bus
import Foundation
import Kernel
import Processes
import TestSupport
import Testing

@testable import Runtime

@Suite("A process killed between commit and reply", .timeLimit(.minutes(10)))
struct VictimTests {
    private static let change = Method<Note, Note>(
        service: "victim",
        version: "v1",
        name: "Change",
        isIdempotent: false,
        timeout: .minutes(2)
    )

    @Test func `leaves its answer to the retry, and one effect`() async throws {
        try await withFixture { fixture in
            let output = FileManager.default.temporaryDirectory.appendingPathComponent("victim-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: output) }
            let victim = try await ChildProcess.spawn(
                Command(
                    executable: builtProgram("mutation-victim").path,
                    arguments: [
                        try await fixture.connectionString(), fixture.database.schema,
                        fixture.bus.configuration.url,
                    ],
                    environment: Command.inherited(),
                    output: output
                )
            )
            func says(_ text: String) async throws {
                try await eventually("the victim says \(text)") {
                    guard !victim.hasExited else { throw NotSo(description: "the victim ended by itself") }
                    return FileManager.default.contents(atPath: output).map { String(decoding: $0, as: UTF8.self).contains(text) }
                        ?? false
                }
            }
            try await says("ready")
            let context = CallContext(deadline: SystemClock.now() + .minutes(2), idempotencyKey: "k")
            let unanswered = Task { try await fixture.bus.call(Self.change, Note("a"), context: context) }
            try await says("committed")
            // Before it is killed: a caller may notice that, and fail by itself.
            unanswered.cancel()
            await #expect(throws: CancellationError.self) { try await unanswered.value }
            victim.signal(SIGKILL)
            _ = await victim.waitForExit()

            let heir = BusService(
                connection: fixture.bus,
                name: "victim",
                version: "1.0.0",
                endpoints: [
                    Endpoint(Self.change) { request, context in
                        try await fixture.mutations.once(context, request) { work in
                            _ = try await work.sql.execute("INSERT INTO effects VALUES (\(request.text))")
                            return Note("done by its heir")
                        }.reply
                    }
                ],
                logger: PostgresServer.silence
            )
            try await heir.start()
            for _ in 0..<2 {
                let reply = try await fixture.bus.call(Self.change, Note("a"), context: context)
                #expect(reply.text == "done by \(victim.pid)")
            }
            let error = await #expect(throws: ServiceError.self) {
                try await fixture.bus.call(Self.change, Note("b"), context: context)
            }
            #expect(error?.reason == "IDEMPOTENCY_KEY_REUSED")
            #expect(try await fixture.database.query("SELECT 1 FROM effects").count == 1)
            await heir.drain()
        }
    }
}

struct NotSo: Error, CustomStringConvertible {
    let description: String
}
