public import DevEnvironment
public import ServiceKit
internal import TestSupport

/// A replica of a service in this process, on a real PostgreSQL and a real NATS of its own, with the rights on the bus that the file of services
/// gives it: what is missing there fails a test.
///
/// ```swift
/// let service = try await TestService<MealsModule>.start(services: FurtherServices(file: "deploy/services.json"))
/// let reply = try await MealsClient(service.bus).greet(GreetRequest(), context: TestService<MealsModule>.by(user))
/// await service.stop()
/// ```
public final class TestService<Module: ServiceModule>: Sendable {
    /// A connection with all rights: calls the service, emits the events of others.
    public let bus: BusConnection
    /// The service's own schema.
    public let database: Database
    private let host: ServiceHost<Module>
    private let nats: NatsServer

    /// Why a service cannot be started for a test.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private init(bus: BusConnection, database: Database, host: ServiceHost<Module>, nats: NatsServer) {
        (self.bus, self.database, self.host, self.nats) = (bus, database, host, nats)
    }

    /// Starts the servers (PostgreSQL once a process), makes the streams and consumers that the service needs, and starts a replica.
    ///
    /// - Parameters:
    ///   - services: a file that names the service.
    ///   - clock: nil for that of the machine.
    ///   - values: further settings, `["meals.limit": "3"]`.
    /// - Throws: `Failure` when the file does not name the service; what a server or the service cannot start with.
    public static func start(
        services: FurtherServices,
        clock: (any Clock)? = nil,
        settings values: [String: String] = [:]
    ) async throws -> TestService {
        guard let service = services.services.first(where: { $0.name == Module.name }) else {
            throw Failure(description: "the file of services does not name \(Module.name)")
        }
        let nats = try await NatsServer.start(configuration: accounts(services))
        let bus = try await BusConnection.connect(
            BusConfiguration(
                url: nats.url,
                name: "test",
                user: "operator",
                password: password,
                inboxPrefix: "_INBOX.operator"
            ),
            logger: PostgresServer.silence
        )
        let sources = Set(service.sources.values.joined()).subtracting([Module.name]).sorted()
        let topology = EventTopology(services: [Module.name] + sources, sources: [Module.name: service.sources])
        try await StreamProvisioner(topology, jetStream: JetStream(connection: bus), logger: PostgresServer.silence).provision()

        let url = try await newDatabase()
        var given = ["nats.url": nats.url, "nats.password": password, "database.url": url, "database.pool": "4"]
        given.merge(values) { $1 }
        let host = try ServiceHost<Module>(
            settings: Settings(values: given, declared: Module.settings),
            logger: PostgresServer.silence,
            clock: clock
        )
        try await host.start()
        let database = Database(
            DatabaseConfiguration(connectionString: url, schema: Module.name, applicationName: "test", poolSize: 2),
            logger: PostgresServer.silence
        )
        try await database.start()
        return TestService(bus: bus, database: database, host: host, nats: nats)
    }

    /// Stops the replica, and then what it stood on.
    public func stop() async {
        await host.stop()
        await database.stop()
        await bus.close()
        await nats.stop()
    }

    /// The context of a call by a user.
    ///
    /// - Parameter key: the idempotency key of a change.
    public static func by(_ user: UserID, role: Principal.Role = .user, key: String? = nil) -> CallContext {
        var context = CallContext.expiring(in: .seconds(30), principal: Principal(userID: user, role: role))
        context.idempotencyKey = key
        return context
    }

    /// Publishes an event as the service that emits it would. The consumers get it a moment later: wait with `eventually`.
    ///
    /// - Parameter id: the event's; given twice, it is the same event again.
    /// - Throws: `ServiceError` when no stream takes it: the file of services names its service as no source.
    public func publish(_ event: some Event, id: EventID? = nil) async throws {
        let id = id ?? UUIDv7Source(clock: SystemClock()).make()
        _ = try await JetStream(connection: bus).publish(
            subject: type(of: event).subject,
            // Not its id: a repeat of the event must arrive, for the service to ignore it.
            messageID: nil,
            headers: ["event-id": id.description, "event-aggregate": event.aggregateID],
            body: try event.serialized(),
            deadline: SystemClock.now() + .seconds(30)
        )
    }

    /// The events of one kind that the service has published so far, the oldest first.
    public func published<E: Event>(_: E.Type) async throws -> [E] {
        let jetStream = JetStream(connection: bus)
        let stream = EventConsumer.streamName(ofService: Module.name)
        let info = try await jetStream.streamInfo(stream)
        guard info.messages > 0 else { return [] }
        var events: [E] = []
        for sequence in info.firstSequence...info.lastSequence {
            guard let message = try await jetStream.message(in: stream, at: sequence), message.subject == E.subject else {
                continue
            }
            events.append(try E(serialized: message.body))
        }
        return events
    }

    /// What is undeclared, or declared and not there, of the personal data in the service's tables (D16); empty when all is well.
    public func personalDataProblems() async throws -> [String] {
        try await PersonalData.problems(of: Module.personalData, in: database)
    }

    private static var password: String { "test" }

    /// The users of the broker, each with its rights.
    private static func accounts(_ services: FurtherServices) -> String {
        var configuration = NATSConfiguration.deployed(with: services)
        configuration.users = configuration.users.filter { $0.user == Module.name || $0.user == "operator" }
        return configuration.users.reduce(configuration.accounts) { text, user in
            text.replacing("$\(user.passwordVariable)", with: "\"\(password)\"")
        }
    }

    /// The connection string of a new and empty database.
    private static func newDatabase() async throws -> String {
        let server = try await PostgresServer.shared()
        let name = "\(Module.name)_\(UUIDv7Source(clock: SystemClock()).make() as EventID)"
        try await server.withDatabase(poolSize: 1) { database in
            _ = try await database.execute("CREATE DATABASE \(identifier: name)")
        }
        return server.connectionString(database: name)
    }
}
