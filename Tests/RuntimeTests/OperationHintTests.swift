import Bus
import Database
import Kernel
import Logging
import Runtime
import Synchronization
import TestSupport
import Testing

@testable import ServiceRuntime

private struct Lines: LogHandler {
    final class Kept: Sendable {
        let errors = Mutex<[String]>([])
        let all = Mutex<[String]>([])
        var logger: Logger { Logger(label: "hints") { _ in Lines(kept: self) } }
    }

    let kept: Kept
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        kept.all.withLock { $0.append("\(event.level) \(event.message)\(fields)") }
        if event.level == .error {
            kept.errors.withLock { $0.append("\(event.message) \(event.metadata?["wayOut"].map { "\($0)" } ?? "")") }
        }
    }
}

@Suite("What a service says of what it needs", .timeLimit(.minutes(10))) struct OperationHintTests {
    @Test func `a JetStream that does not answer while the broker does is an error that names the way out`() async throws {
        // The broker drops the question, as one does whose JetStream hangs.
        let server = try await NatsServer.start(
            configuration: """
                accounts { A { jetstream: enabled, users: [
                    { user: u, password: p, permissions: { publish: { deny: ["$JS.API.STREAM.INFO.>"] } } } ] } }
                """
        )
        let (kept, metrics) = (Lines.Kept(), Metrics())
        let bus = try await BusConnection.connect(
            BusConfiguration(url: server.url, name: "hints", user: "u", password: "p"),
            logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
        )
        let monitor = JetStreamMonitor(
            service: "test",
            bus: bus,
            logger: kept.logger,
            metrics: metrics,
            timeout: .milliseconds(100),
            interval: .milliseconds(20)
        )
        let watching = Task { await monitor.run() }
        try await eventually("it is said") { kept.errors.withLock { !$0.isEmpty } }
        let said = try #require(kept.errors.withLock { $0.first })
        #expect(said.contains("JetStream does not answer") && said.contains("restart the broker") && said.contains("space"))
        #expect(metrics.text().contains("streaksnap_jetstream_answers 0"))
        watching.cancel()
        await watching.value
        await bus.close()
    }

    @Test func `a job whose service is away waits for it calmly, and runs again long before its interval`() async throws {
        let kept = Lines.Kept()
        let runs = Atomic(0)
        // The interval never ends within the test.
        let job = Job("asking", every: .seconds(3600)) { _ in
            switch runs.add(1, ordering: .relaxed).newValue {
            case 1: throw ServiceError.unavailable()
            case 2: throw ServiceError.internal
            default: return 0
            }
        }
        var runner = JobRunner(jobs: [job], clock: SystemClock(), logger: kept.logger, metrics: Metrics())
        runner.waitForService = .milliseconds(1)
        let running = Task { [runner] in await runner.run() }
        try await eventually("it runs again, and warns of what does not pass") { kept.all.withLock { $0.count == 2 } }
        running.cancel()
        await running.value
        let lines = kept.all.withLock { $0 }
        #expect(
            lines.first
                == "info a job waits for a service and will run again job=asking reason=The service is not available right now."
        )
        #expect(lines.last?.hasPrefix("warning a job failed and will run again error=") == true)
    }

    @Test func `a job that fails again and again is in the log ever more rarely, and once more when it runs or fails otherwise`()
        async throws
    {
        let kept = Lines.Kept()
        let runs = Atomic(0)
        let job = Job("failing", every: .milliseconds(1)) { _ in
            switch runs.add(1, ordering: .relaxed).newValue {
            case ...20: throw DatabaseError(.unavailable)
            case 21: throw ServiceError.internal
            case 22...23: throw DatabaseError(.unavailable)
            default: return 0
            }
        }
        let runner = JobRunner(jobs: [job], clock: SystemClock(), logger: kept.logger, metrics: Metrics())
        let running = Task { await runner.run() }
        try await eventually("it runs again") { kept.all.withLock { $0.last?.hasPrefix("notice a job runs again") ?? false } }
        running.cancel()
        await running.value
        let failures = kept.all.withLock { $0.compactMap { $0.firstMatch(of: /failures=(\d+)/).flatMap { Int($0.1) } } }
        #expect(failures == [1, 2, 4, 8, 16, 1, 1, 2, 2])
    }

    @Test func `a JetStream that has no such stream yet does answer`() async throws {
        let server = try await NatsServer.start()
        let (kept, metrics) = (Lines.Kept(), Metrics())
        let bus = try await BusConnection.connect(BusConfiguration(url: server.url, name: "hints"), logger: kept.logger)
        let monitor = JetStreamMonitor(
            service: "test",
            bus: bus,
            logger: kept.logger,
            metrics: metrics,
            timeout: .seconds(5),
            interval: .milliseconds(5)
        )
        let watching = Task { await monitor.run() }
        try await eventually("it is asked") { metrics.text().contains("streaksnap_jetstream_answers 1") }
        await server.kill()
        try await eventually("a broker that is away is not called silent") {
            metrics.text().contains("streaksnap_jetstream_answers 0")
        }
        watching.cancel()
        await bus.close()
        await watching.value
        #expect(kept.errors.withLock { $0 }.allSatisfy { !$0.contains("JetStream") })
    }

    private func budget(pool: Int, presence: Bool = true, limit: Int = 100, own: Int? = nil, used: Int = 10) -> ConnectionBudget {
        ConnectionBudget(pool: pool, hasPresence: presence, limit: limit, reserved: 3, ownLimit: own, used: used)
    }

    @Test func `a pool that PostgreSQL has no room for is refused, and the least that would do is named`() throws {
        #expect(budget(pool: 96).problem == nil && budget(pool: 7, limit: 11).problem == nil)
        let large = try #require(budget(pool: 97).problem)
        #expect(
            large.contains("needs 98") && large.contains("at most 96") && large.contains("max_connections must be at least 101")
        )
        let own = try #require(budget(pool: 7, own: 5).problem)
        #expect(own.contains("limited to 5") && own.contains("at most 4") && own.contains("at least 8"))
        #expect(try #require(budget(pool: 1, limit: 4).problem).contains("Allow more"))
    }

    @Test func `without presence a replica needs no connection beside its pool`() throws {
        #expect(budget(pool: 97, presence: false).problem == nil && budget(pool: 7, presence: false, own: 7).problem == nil)
        let large = try #require(budget(pool: 98, presence: false).problem)
        #expect(large.contains("needs 98") && large.contains("at most 97"))
        let own = try #require(budget(pool: 7, presence: false, own: 6).problem)
        #expect(own.contains("needs 7") && own.contains("to at most 6") && own.contains("at least 7"))
        #expect(budget(pool: 7, presence: false, used: 90).warning == nil)
    }

    @Test func `no room for one more replica is a warning`() {
        #expect(budget(pool: 7, used: 89).warning == nil)
        #expect(budget(pool: 7, used: 90).warning?.contains("90 of PostgreSQL's 97") == true)
    }

    @Test func `the limits are those of the server, the role and the database`() async throws {
        let postgres = try await PostgresServer.start(settings: ["max_connections=20", "superuser_reserved_connections=2"])
        try await postgres.withDatabase(poolSize: 1) { database in
            let read = try await ConnectionBudget.read(pool: 40, hasPresence: true, from: database)
            #expect(read.limit == 20 && read.reserved == 2 && read.ownLimit == nil && (read.used ?? 0) >= 1)
            #expect(read.problem?.contains("at least 43") == true)
            try await database.execute("CREATE ROLE small LOGIN CONNECTION LIMIT 4")
            try await database.execute("GRANT CREATE ON DATABASE postgres TO small")
        }
        let small = Database(
            DatabaseConfiguration(connectionString: postgres.connectionString(user: "small"), schema: "small", poolSize: 2),
            logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
        )
        try await small.start()
        let large = try await ConnectionBudget.read(pool: 7, hasPresence: true, from: small)
        #expect(large.problem?.contains("limited to 4") == true)
        for (pool, presence, fits) in [(4, true, false), (4, false, true), (3, true, true)] {
            let problem = try await ConnectionBudget.read(pool: pool, hasPresence: presence, from: small).problem
            #expect((problem == nil) == fits, "a pool of \(pool)")
        }
        await small.stop()
    }
}
