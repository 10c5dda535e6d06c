import Bus
import Cryptography
import Database
import Foundation
import Kernel
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime

/// A service with one RPC that changes something, and a way to fail at the start.
private enum TestModule: ServiceModule {
    static let name = "hosted"
    static let about = "tests"
    static let descriptor: (bytes: [UInt8], hash: String) = ([1, 2, 3], "hash")
    static let fails = Setting("test.fails", default: false, help: "Whether it does not start.")
    static let change = Method<Note, Note>(service: "hosted", version: "v1", name: "Change", isIdempotent: false)
    /// How often the RPC ran, by the text of its request.
    static let runs = Mutex<[String: Int]>([:])

    /// What a replica has once, in the order in which features were given it.
    static let pools = Mutex<[Pool]>([])

    struct Broken: Error {}
    final class Pool: Sendable {}

    static func usePool(of environment: ServiceEnvironment) async throws {
        let pool = try await environment.shared { _ in Pool() }
        pools.withLock { $0.append(pool) }
    }

    static let features = [
        ServiceFeature("changes", settings: [fails]) { environment in
            if try environment.settings.get(fails) { throw Broken() }
            try await usePool(of: environment)
            return FeatureParts(
                endpoints: [
                    Endpoint(change) { request, _ in
                        _ = try await environment.database.query("SELECT pg_sleep(0.005)")
                        runs.withLock { $0[request.text, default: 0] += 1 }
                        return request
                    }
                ]
            )
        },
        ServiceFeature("more") { environment in
            try await usePool(of: environment)
            return FeatureParts()
        },
    ]
}

/// Tasks wait here for the end.
private final class Ending: Sendable {
    let isHere = Atomic(false)
}

/// Keeps what is logged.
private struct Recorder: LogHandler {
    final class Lines: Sendable {
        let all = Mutex<[(message: String, part: String?)]>([])

        func parts(_ message: String) -> [String] { all.withLock { $0.filter { $0.message == message }.compactMap(\.part) } }
        func contains(_ message: String) -> Bool { all.withLock { $0.contains { $0.message == message } } }
    }

    let lines: Lines
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let part = event.metadata?["part"].map { "\($0)" }
        lines.all.withLock { $0.append(("\(event.message)", part)) }
    }
}

@Suite("A service's replica", .serialized, .timeLimit(.minutes(10)))
struct HostTests {
    private static let order = [
        "zone data", "spans", "loop", "database", "clock check", "bus", "presence", "relay", "events", "jobs", "job lag",
        "event lag", "jetstream", "requests",
    ]

    private func host(
        _ postgres: PostgresServer,
        _ nats: NatsServer,
        fails: Bool = false,
        database: String? = nil,
        sealKey: String? = nil,
        key: String? = nil,
        _ lines: Recorder.Lines = Recorder.Lines(),
        _ metrics: Metrics = Metrics()
    ) throws -> ServiceHost<TestModule> {
        var values = [
            "nats.url": nats.url, "database.url": database ?? postgres.connectionString, "database.pool": "3",
            "test.fails": "\(fails)",
        ]
        values["seal.key"] = sealKey
        values["service.key"] = key
        let settings = Settings(values: values, declared: TestModule.settings)
        return try ServiceHost(
            settings: settings,
            logger: Logger(label: "test") { _ in Recorder(lines: lines) },
            metrics: metrics
        )
    }

    /// The connections of replicas to their database.
    private func connections(_ postgres: PostgresServer) async throws -> Int {
        try await postgres.withDatabase(poolSize: 1) { database in
            try await database.query("SELECT 1 FROM pg_stat_activity WHERE application_name = 'streaksnap-hosted'").count
        }
    }

    @Test func `starts its parts in order, and stops them in the reverse order`() async throws {
        let (postgres, nats) = (try await PostgresServer.start(), try await NatsServer.start())
        let lines = Recorder.Lines()
        let host = try host(postgres, nats, lines)
        #expect(!host.isReady)
        try await host.start()
        #expect(host.isReady)
        #expect(lines.parts("started") == Self.order)
        #expect(try await connections(postgres) > 0)
        await host.stop()
        #expect(!host.isReady)
        #expect(lines.parts("stopped") == Self.order.reversed())
        try await eventually("no connection is left") { try await connections(postgres) == 0 }
    }

    @Test func `with a key it believes only what a gateway has sealed, without one anything, and shows which`() async throws {
        let (postgres, nats) = (try await PostgresServer.start(), try await NatsServer.start())
        let key = String(repeating: "k", count: 32)
        let plain = BusConfiguration(url: nats.url, inboxPrefix: "_INBOX.caller")
        var sealing = plain
        sealing.sealer = try Sealer("hosted:\(key)")
        let caller = try await BusConnection.connect(plain, logger: PostgresServer.silence)
        let gateway = try await BusConnection.connect(sealing, logger: PostgresServer.silence)
        let admin = Principal(userID: UserID(high: 0, low: 1), role: .admin)
        func ask(_ text: String, _ bus: BusConnection) async throws -> String {
            try await bus.call(TestModule.change, Note(text), context: .expiring(in: .seconds(30), principal: admin)).text
        }
        for isChecked in [false, true] {
            let (lines, metrics) = (Recorder.Lines(), Metrics())
            let host = try host(postgres, nats, sealKey: isChecked ? key : nil, lines, metrics)
            try await host.start()
            #expect(metrics.text().contains("streaksnap_principals_checked{service=\"hosted\"} \(isChecked ? 1 : 0)"))
            #expect(lines.contains("principals are believed without a seal: --seal-key is not set") != isChecked)
            #expect(try await ask("sealed", gateway) == "sealed")
            if isChecked {
                let error = await #expect(throws: ServiceError.self) { try await ask("forged", caller) }
                #expect(error?.reason == "PRINCIPAL_NOT_SEALED")
                #expect(TestModule.runs.withLock { $0["forged"] } == nil)
            } else {
                #expect(try await ask("believed", caller) == "believed")
            }
            await host.stop()
        }
        let unusable = try host(postgres, nats, sealKey: "short")
        let error = await #expect(throws: Settings.Invalid.self) { try await unusable.start() }
        #expect(error?.description == "--seal-key (or STREAKSNAP_SEAL_KEY) must have keys of at least 32 characters.")
        await caller.close()
        await gateway.close()
    }

    @Test func `signs its version and descriptor with the key of its deployment, if it has one`() async throws {
        let (postgres, nats) = (try await PostgresServer.start(), try await NatsServer.start())
        let bus = try await BusConnection.connect(
            BusConfiguration(url: nats.url, inboxPrefix: "_INBOX.caller"),
            logger: PostgresServer.silence
        )
        func signature() async throws -> String? {
            let replies = try await bus.scatter("$SRV.PING.hosted", for: .seconds(30), atMost: 1)
            let body = try #require(replies.first).body
            let reply = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
            return (reply?["metadata"] as? [String: String])?["descriptor-signature"]
        }
        let unsigned = try host(postgres, nats)
        try await unsigned.start()
        #expect(try await signature() == nil)
        await unsigned.stop()
        let pem = try Ed25519.PrivateKey().pem()
        let host = try host(postgres, nats, key: pem)
        try await host.start()
        let key = try #require(ServiceKey(settingText: pem))
        let known = try #require(ServicePublicKeys(settingText: "hosted=\(key.publicText)"))
        let statement = ServiceStatement.descriptor(service: "hosted", version: TestModule.version, sha256: "hash")
        let signed = try #require(await signature())
        #expect(known.verify(signed, of: statement, by: "hosted"))
        await host.stop()
        await bus.close()
        let wrong = try self.host(postgres, nats, key: "no key")
        let error = await #expect(throws: Settings.Invalid.self) { try await wrong.start() }
        #expect(error?.description.contains("--service-key") == true && error?.description.contains("no key") == false)
    }

    @Test func `says which setting is wrong when the database's is`() async throws {
        let (postgres, nats) = (try await PostgresServer.start(), try await NatsServer.start())
        let nonsense = try host(postgres, nats, database: "postgres//x")
        let error = await #expect(throws: Settings.Invalid.self) { try await nonsense.start() }
        #expect(error?.description == "--database-url is no connection string of PostgreSQL.")
        try await postgres.withDatabase(poolSize: 1) { database in
            try await database.execute("CREATE ROLE other LOGIN")
            try await database.execute("CREATE SCHEMA IF NOT EXISTS hosted")
        }
        let foreign = try host(postgres, nats, database: postgres.connectionString(user: "other"))
        let refusal = await #expect(throws: ServiceError.self) { try await foreign.start() }
        #expect(refusal?.message.contains("--database-url may not use the schema hosted") == true)
    }

    @Test func `has once what its features share, and other replicas have their own`() async throws {
        let (postgres, nats) = (try await PostgresServer.start(), try await NatsServer.start())
        TestModule.pools.withLock { $0 = [] }
        for _ in 0..<2 {
            let host = try host(postgres, nats)
            try await host.start()
            await host.stop()
        }
        let pools = TestModule.pools.withLock { $0 }
        try #require(pools.count == 4)
        #expect(pools[0] === pools[1] && pools[2] === pools[3])
        #expect(pools[0] !== pools[2])
    }

    @Test func `that fails at the start stops what was started`() async throws {
        let (postgres, nats) = (try await PostgresServer.start(), try await NatsServer.start())
        let lines = Recorder.Lines()
        let host = try host(postgres, nats, fails: true, lines)
        await #expect(throws: TestModule.Broken.self) { try await host.start() }
        #expect(!host.isReady)
        let started = ["zone data", "spans", "loop", "database", "clock check", "bus", "presence"]
        #expect(lines.parts("started") == started)
        #expect(lines.parts("stopped") == started.reversed())
        try await eventually("no connection is left") { try await connections(postgres) == 0 }
        let bus = try await BusConnection.connect(BusConfiguration(url: nats.url), logger: PostgresServer.silence)
        #expect(try await bus.scatter("$SRV.PING", for: .milliseconds(300), atMost: 1).isEmpty, "no service answers")
        await bus.close()
    }

    @Test func `waits for a database that is away, and says so; is not ready while it is away again`() async throws {
        let (postgres, nats) = (try await PostgresServer.start(), try await NatsServer.start())
        await postgres.stop()
        let lines = Recorder.Lines()
        let host = try host(postgres, nats, lines)
        let starting = Task { try await host.start() }
        try await eventually("it waits") { lines.contains("waiting for the database") }
        #expect(!host.isReady)
        try await postgres.start()
        try await starting.value
        #expect(host.isReady)
        await postgres.stop()
        try await eventually("it is not ready") { !host.isReady }
        try await postgres.start()
        try await eventually("it is ready again") { host.isReady }
        await host.stop()
    }

    @Test func `without its database it answers UNAVAILABLE, says so when services are asked for, and recovers`() async throws {
        let (postgres, nats) = (try await PostgresServer.start(), try await NatsServer.start())
        let bus = try await BusConnection.connect(
            BusConfiguration(url: nats.url, inboxPrefix: "_INBOX.caller"),
            logger: PostgresServer.silence
        )
        let host = try host(postgres, nats)
        try await host.start()
        func ask() async throws -> Note {
            try await bus.call(TestModule.change, Note("away"), context: .expiring(in: .seconds(30)))
        }
        func saysOf(_ database: String) async throws -> Bool {
            let replies = try await bus.scatter("$SRV.INFO.hosted", for: .seconds(30), atMost: 1)
            return replies.contains { String(decoding: $0.body, as: UTF8.self).contains("\"database\":\"\(database)\"") }
        }
        #expect(try await ask().text == "away")
        #expect(try await saysOf("available"))
        for isFrozen in [false, true] {
            if isFrozen { postgres.pause() } else { await postgres.stop() }
            // The first may be in flight, and its outcome unknown: that is UNAVAILABLE too.
            for _ in 0..<20 {
                let error = await #expect(throws: ServiceError.self) { try await ask() }
                #expect(error?.code == .unavailable && error?.retryAfter == 1)
            }
            #expect(!host.isReady)
            #expect(try await saysOf("unavailable"))
            if isFrozen { postgres.resume() } else { try await postgres.start() }
            try await eventually("it is ready again") { host.isReady }
            #expect(try await ask().text == "away")
            #expect(try await saysOf("available"))
        }
        await host.stop()
        await bus.close()
    }

    @Test func `waits for a broker that is away, and says so; is not ready while it is away again`() async throws {
        let (postgres, nats) = (try await PostgresServer.start(), try await NatsServer.start())
        await nats.stop()
        let lines = Recorder.Lines()
        let host = try host(postgres, nats, lines)
        let starting = Task { try await host.start() }
        try await eventually("it waits") { lines.contains("waiting for the bus") }
        #expect(!host.isReady)
        try await nats.start()
        try await starting.value
        #expect(host.isReady)
        await nats.stop()
        try await eventually("it is not ready") { !host.isReady }
        try await nats.start()
        try await eventually("it is ready again") { host.isReady }
        await host.stop()
    }

    /// What one caller did, or all of them.
    private struct Load: Sendable {
        var made = 0
        var failures: [String] = []
    }

    @Test func `can be restarted beside another under load: no request fails, none runs twice`() async throws {
        let (postgres, nats) = (try await PostgresServer.start(), try await NatsServer.start())
        let bus = try await BusConnection.connect(
            BusConfiguration(url: nats.url, inboxPrefix: "_INBOX.load"),
            logger: PostgresServer.silence
        )
        TestModule.runs.withLock { $0 = [:] }
        var replicas = [try host(postgres, nats), try host(postgres, nats)]
        for replica in replicas { try await replica.start() }
        let ending = Ending()
        let load = try await withThrowingTaskGroup(of: Load.self, returning: Load.self) { tasks in
            defer { ending.isHere.store(true, ordering: .relaxed) }
            for caller in 0..<12 {
                tasks.addTask {
                    var load = Load()
                    while !ending.isHere.load(ordering: .relaxed), load.failures.count < 5 {
                        let text = "\(caller).\(load.made)"
                        load.made += 1
                        do {
                            _ = try await bus.call(TestModule.change, Note(text), context: .expiring(in: .seconds(30)))
                        } catch { load.failures.append("\(text): \(error)") }
                    }
                    return load
                }
            }
            for round in 0..<6 {
                let before = TestModule.runs.withLock { $0.count }
                let next = try host(postgres, nats)
                try await next.start()
                await replicas[round % 2].stop()
                replicas[round % 2] = next
                try await eventually("requests go on") { TestModule.runs.withLock { $0.count } > before + 50 }
            }
            ending.isHere.store(true, ordering: .relaxed)
            return try await tasks.reduce(into: Load()) {
                $0.made += $1.made
                $0.failures += $1.failures
            }
        }
        #expect(load.failures.isEmpty, "\(load.failures.prefix(5))")
        let runs = TestModule.runs.withLock { $0 }
        #expect(runs.count == load.made && runs.values.allSatisfy { $0 == 1 })
        for replica in replicas { await replica.stop() }
        await bus.close()
    }
}
