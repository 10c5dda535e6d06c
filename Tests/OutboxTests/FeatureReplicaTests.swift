import Bus
import Database
import Foundation
import Kernel
import Outbox
import Processes
import TestSupport
import Testing
import TestingAPI

/// Features of one service on different replicas, as processes that are killed (D14).
@Suite(.serialized, .timeLimit(.minutes(10))) struct FeatureReplicaTests {
    private static let sign = Method<GreetRequest, GreetReply>(
        service: "testing",
        version: "v1",
        name: "Sign",
        isIdempotent: false
    )
    private static let guests = 200

    /// A broker, a database of its own, and the means to start replicas on them.
    private struct Guestbook {
        let nats: NatsServer
        let databaseURL: String
        let bus: BusConnection

        init() async throws {
            nats = try await NatsServer.start()
            let server = try await PostgresServer.shared()
            let name = "guestbook_\(UUID().uuidString.prefix(8).lowercased())"
            try await server.withDatabase(poolSize: 1) { database in
                _ = try await database.execute("CREATE DATABASE \(identifier: name)")
            }
            databaseURL = server.connectionString(database: name)
            bus = try await BusConnection.connect(BusConfiguration(url: nats.url), logger: PostgresServer.silence)
            let topology = EventTopology(
                services: ["testing"],
                sources: ["testing": ["visits": ["testing"], "thanks": ["testing"]]]
            )
            try await StreamProvisioner(topology, jetStream: JetStream(connection: bus), logger: PostgresServer.silence)
                .provision()
        }

        func replica(_ features: String) async throws -> ChildProcess {
            try await ChildProcess.spawn(
                Command(
                    executable: try builtProgram("guestbook").path,
                    arguments: [],
                    environment: Command.inherited([
                        "STREAKSNAP_NATS_URL": nats.url, "STREAKSNAP_DATABASE_URL": databaseURL, "STREAKSNAP_FEATURES": features,
                        "STREAKSNAP_ADMIN_PORT": "0",
                    ]),
                    deathSignal: "TERM",
                    output: "/dev/null"
                )
            )
        }

        /// Signs as a client does that repeats with its key until it is answered.
        func sign(_ name: String) async throws {
            try await eventually("\(name) is welcomed", within: .seconds(60)) {
                let context = CallContext(deadline: SystemClock.now() + .seconds(2), idempotencyKey: name)
                return (try? await bus.call(FeatureReplicaTests.sign, GreetRequest(name: name), context: context)) != nil
            }
        }

        func count(_ query: Query) async throws -> Int {
            let database = Database(
                DatabaseConfiguration(connectionString: databaseURL, schema: "testing", poolSize: 1),
                logger: PostgresServer.silence
            )
            try await database.start()
            let rows = try await database.query(query).map { try $0.decode(as: Int.self) }
            await database.stop()
            return rows.first ?? 0
        }
    }

    @Test func `each is killed while events flow, and no effect is missing or doubled`() async throws {
        let world = try await Guestbook()
        let features = ["entries,visits", "entries,thanks"]
        var replicas: [ChildProcess] = []
        for features in features { replicas.append(try await world.replica(features)) }
        for guest in 0..<Self.guests {
            try await world.sign("guest \(guest)")
            guard guest % 50 == 25 else { continue }
            let index = guest / 50 % 2
            replicas[index].signal(SIGKILL)
            _ = await replicas[index].waitForExit()
            replicas[index] = try await world.replica(features[index])
        }
        #expect(try await world.count("SELECT count(*) FROM entry") == Self.guests)
        try await eventually("both features have consumed every event", within: .seconds(60)) {
            let visits = try await world.count("SELECT count(*) FROM visits")
            return try await (visits, world.count("SELECT count(DISTINCT name) FROM thanks")) == (Self.guests, Self.guests)
        }
        #expect(try await world.count("SELECT sum(count) FROM visits") == Self.guests, "each counted once")
        #expect(try await world.count("SELECT count(*) FROM thanks") == Self.guests, "each thanked once")
        for replica in replicas {
            replica.signal(SIGTERM)
            #expect(await replica.waitForExit() == 0)
        }
        await world.bus.close()
    }

    @Test func `what no replica runs waits for one that does`() async throws {
        let world = try await Guestbook()
        let entries = try await world.replica("entries")
        try await world.sign("ann")
        let visits = try await world.replica("visits")
        try await eventually("the visit is counted") { try await world.count("SELECT count(*) FROM visits") == 1 }
        #expect(try await world.count("SELECT count(*) FROM thanks") == 0, "nothing runs thanks")
        let thanks = try await world.replica("thanks")
        try await eventually("the thanks are written") { try await world.count("SELECT count(*) FROM thanks") == 1 }
        for replica in [entries, visits, thanks] {
            replica.signal(SIGTERM)
            #expect(await replica.waitForExit() == 0)
        }
        await world.bus.close()
    }
}
