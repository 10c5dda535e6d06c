import Bus
import Database
import Kernel
import Outbox
import TestSupport
import Testing
import Wire

@testable import Runtime
@testable import ServiceRuntime

/// An event for tests whose handler fails.
private struct Tested: Event {
    static let fullName = "test.v1.Tested"
    static let subject = "evt.tester.v1.Tested"
    var aggregateID = "one"
    init() {}
    init(serialized bytes: UnsafeRawBufferPointer) throws {}
    func serialized() throws -> [UInt8] { [] }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

private struct Broken: Error {}

@Suite("What an operator sees of events and does about them", .timeLimit(.minutes(10)))
struct EventOperationTests {
    private func consumer(_ fixture: Fixture) -> EventConsumer {
        EventConsumer(
            service: "listener",
            feature: "all",
            handlers: [EventHandler(Tested.self) { _, _ in throw Broken() }],
            database: fixture.database,
            work: fixture.work,
            jetStream: JetStream(connection: fixture.bus),
            logger: PostgresServer.silence,
            maxAttempts: 1
        )
    }

    private func settings(_ fixture: Fixture) async throws -> Settings {
        Settings(values: ["database.url": try await fixture.connectionString()], declared: ServiceSettings.all)
    }

    @Test func `The metrics show what waits in the outbox, what was not consumed, and what is tried again`() async throws {
        try await withFixture { fixture in
            let jetStream = JetStream(connection: fixture.bus)
            let topology = EventTopology(services: ["tester"], sources: ["listener": ["all": ["tester"]]])
            try await StreamProvisioner(topology, jetStream: jetStream, logger: PostgresServer.silence).provision()
            let relay = OutboxRelay(
                database: fixture.database,
                jetStream: jetStream,
                bus: fixture.bus,
                service: "tester",
                ids: UUIDv7Source(clock: SystemClock()),
                logger: PostgresServer.silence
            )
            let metrics = Metrics().labelled([("service", "tester")])
            let consumer = consumer(fixture)
            let lag = EventMetrics(metrics, database: fixture.database, relay: relay, consumers: [consumer])
            func shows(_ line: String) -> Bool { metrics.text().split(separator: "\n").contains { $0 == line } }

            try await fixture.work.run(trace: "", requestID: "") { try await $0.emit([Tested(), Tested(), Tested()]) }
            try await fixture.database.execute("UPDATE outbox SET created_at = created_at - interval '90 seconds'")
            await lag.measure()
            #expect(shows(#"streaksnap_outbox_backlog{service="tester"} 3"#))
            let age = metrics.gauge("streaksnap_outbox_oldest_age_seconds", help: "").current
            #expect((90...150).contains(age))
            #expect(shows(#"streaksnap_consumer_pending{service="tester",feature="all",stream="EVT_TESTER"} 0"#))

            #expect(try await relay.relayBatch() == 3)
            await lag.measure()
            #expect(shows(#"streaksnap_outbox_backlog{service="tester"} 0"#))
            #expect(shows(#"streaksnap_outbox_oldest_age_seconds{service="tester"} 0"#))
            #expect(shows(#"streaksnap_consumer_pending{service="tester",feature="all",stream="EVT_TESTER"} 3"#))

            let consuming = Task { await consumer.run() }
            defer { consuming.cancel() }
            try await eventually("one is parked, two wait behind it") {
                _ = try await consumer.retryDue()
                await lag.measure()
                return shows(#"streaksnap_events_parked{service="tester",feature="all"} 1"#)
                    && shows(#"streaksnap_events_retrying{service="tester",feature="all"} 2"#)
                    && shows(#"streaksnap_consumer_pending{service="tester",feature="all",stream="EVT_TESTER"} 0"#)
            }
            consuming.cancel()
            await consuming.value
        }
    }

    @Test func `The events command lists parked events and has them tried again`() async throws {
        try await withFixture { fixture in
            let settings = try await settings(fixture)
            func run(_ words: String...) async throws -> String {
                try await EventsCommand.command(schema: fixture.database.schema).run(words, settings).output
            }
            #expect(try await run("parked") == "no event is parked\n")
            for (number, error) in ["first\nfailure", "second"].enumerated() {
                let id = EventID(high: 7, low: UInt64(number))
                try await fixture.database.execute(
                    """
                    INSERT INTO event_retry (event_id, feature, aggregate, subject, trace, request_id, body, attempts, parked_at, last_error)
                    VALUES (\(id), 'all', 'one', 'evt.tester.v1.Tested', '', '', '', 10, clock_timestamp(), \(error))
                    """
                )
            }
            let lines = try await run("parked").split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
            #expect(lines.count == 3)
            #expect(
                lines[1][0] == "\(EventID(high: 7, low: 0))" && lines[1][1...4] == ["all", "evt.tester.v1.Tested", "one", "10"]
            )
            #expect(lines[1].last == "first failure" && lines[2].last == "second")

            #expect(try await run("redrive", lines[2][0]) == "to be tried again: 1\n")
            await #expect(throws: Settings.Invalid.self, "it is not parked any more") { try await run("redrive", lines[2][0]) }
            for words in [["nonsense"], [lines[1][0], "other"]] {
                let error = await #expect(throws: Settings.Invalid.self) {
                    try await EventsCommand.command(schema: fixture.database.schema).run(["redrive"] + words, settings)
                }
                #expect(error.map { "\($0)".contains("is of the feature \(words.last ?? "").") } == true)
            }
            #expect(try await run("redrive", lines[1][0], "all") == "to be tried again: 1\n")
            try await fixture.database.execute(
                "UPDATE event_retry SET parked_at = clock_timestamp(), attempts = 10 WHERE last_error = 'second'"
            )
            #expect(try await run("redrive", "all") == "to be tried again: 1\n")
            #expect(try await run("redrive") == "to be tried again: 0\n")
            let waiting = try await fixture.database.query(
                "SELECT 1 FROM event_retry WHERE parked_at IS NULL AND attempts = 0 AND next_attempt_at <= clock_timestamp()"
            )
            #expect(waiting.count == 2)
            for words in [[], ["redrive", "a", "b"], ["redrive", lines[1][0], "a", "b"], ["purge"]] {
                await #expect(throws: Settings.Invalid.self) {
                    try await EventsCommand.command(schema: "none").run(words, settings)
                }
            }
        }
    }
}
