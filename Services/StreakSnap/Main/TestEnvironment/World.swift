import Bus
import DevEnvironment
import GatewayService
import Kernel
import Logging
import Outbox
import Runtime

/// A private system: every service and a gateway in this process, with a database and an account on the broker of its own.
actor World {
    nonisolated let plan: WorldPlan
    nonisolated let standIns: WorldStandIns
    nonisolated let database: DatabaseProxy
    nonisolated let client: WorldClient
    nonisolated let people = PeopleCount()
    private let bus: BusConnection
    private let clock: DevelopmentClock
    private let coordinator: DevelopmentClockCoordinator
    private var services: [String: any Program] = [:]
    private var gateway: GatewayHost?

    nonisolated var id: String { plan.id }

    /// - Parameter bus: of the user who may do everything in its account.
    init(_ plan: WorldPlan, _ standIns: WorldStandIns, database: DatabaseProxy, bus: BusConnection, client: WorldClient) {
        (self.plan, self.standIns, self.database, self.bus, self.client) = (plan, standIns, database, bus, client)
        clock = DevelopmentClock()
        coordinator = DevelopmentClockCoordinator(bus: bus, clock: clock, isPrivate: true)
    }

    /// Starts every service, all at once, and then the gateway.
    ///
    /// - Parameter hasGateway: false for one that is there only to make its tables.
    /// - Throws: `Settings.Invalid`, or what a service needs and does not get; what was started is stopped then.
    func start(hasGateway: Bool = true) async throws {
        do {
            services = Dictionary(
                uniqueKeysWithValues: try BusPermissions.services.map { ($0, try plan.service($0)) }
            )
            try await withThrowingTaskGroup(of: Void.self) { [services] tasks in
                for service in services.values { tasks.addTask { try await service.start() } }
                try await tasks.waitForAll()
            }
            guard hasGateway else { return }
            let gateway = try plan.gateway(clock)
            self.gateway = gateway
            try await gateway.start()
            let deadline = ContinuousClock.now + .seconds(30)
            while !gateway.isReady {
                guard ContinuousClock.now < deadline else {
                    throw ControlError.unavailable("The services of \(plan.id) did not answer within 30 s.")
                }
                try await Task.sleep(for: .milliseconds(10))
            }
        } catch {
            await stop()
            throw error
        }
    }

    /// Ends everything of this process; the database and the streams stay.
    func stop() async {
        await gateway?.stop()
        gateway = nil
        await withTaskGroup(of: Void.self) { [services] tasks in
            for service in services.values { tasks.addTask { await service.stop() } }
        }
        services = [:]
    }

    /// Ends everything of it that costs processor time. What it has stored stays.
    func end() async {
        await stop()
        await standIns.mail.stop()
        await database.stop()
    }

    /// Removes its streams from the broker, so that another world can have the account.
    func removeStreams() async {
        await Self.removeStreams(bus)
        await bus.close()
    }

    /// What is on the broker for a world, in memory: it ends with its servers.
    static let topology: EventTopology = {
        var topology = EventTopology.streaksnap(hasDevelopmentClock: true)
        for index in topology.streams.indices { topology.streams[index].configuration.storage = .memory }
        return topology
    }()

    /// Removes all streams of an account; those that there are not are no failure.
    static func removeStreams(_ bus: BusConnection) async {
        for stream in topology.streams {
            let subject = "$JS.API.STREAM.DELETE.\(stream.configuration.name)"
            _ = try? await bus.request(subject, body: [], deadline: SystemClock.now() + .seconds(5))
        }
    }

    /// Takes a service away, as if its process had ended; nothing when it is away.
    func stopService(_ name: String) async { await services.removeValue(forKey: name)?.stop() }

    /// Brings a service back; returns when it answers. Nothing when it is there.
    ///
    /// - Throws: what it needs and does not get.
    func startService(_ name: String) async throws {
        guard services[name] == nil else { return }
        let service = try plan.service(name)
        // Before it is waited for: another request may want the same.
        services[name] = service
        do { try await service.start() } catch {
            services[name] = nil
            throw error
        }
    }

    /// What its clock shows.
    ///
    /// - Throws: `ServiceError` when the broker does not say.
    func now() async throws -> Instant {
        try await coordinator.restore()
        return clock.now()
    }

    /// Moves its clock; returns when all that became due is done (PF-7).
    ///
    /// - Throws: `VALIDATION_ERROR` naming `now`, `UNAVAILABLE` when it takes longer than two minutes.
    func setClock(_ target: Instant) async throws -> Instant {
        try await move("now") { try await $0.set(to: target, replicas: $1) }
    }

    /// Moves its clock by seconds that are not negative, likewise.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `advance_seconds`, else as `setClock`.
    func advanceClock(_ seconds: Int64) async throws -> Instant {
        try await move("advance_seconds") { try await $0.advance(by: .seconds(seconds), replicas: $1) }
    }

    /// Waits until nothing is under way: what was done has had all its effects, as far as they are not due later. Not while the database is slowed down
    /// or away: then that may take minutes, or never be.
    ///
    /// - Throws: `UNAVAILABLE` when it takes longer than two minutes.
    func waitUntilQuiet() async throws {
        guard database.behaviour == DatabaseProxy.Behaviour() else { return }
        do { try await coordinator.waitUntilQuiet(replicas: services.count) } catch let error as ServiceError
            where error == .deadlineExceeded
        {
            throw ControlError.unavailable("The world is still busy with what was done before.")
        }
    }

    private func move(
        _ field: String,
        _ change: (DevelopmentClockCoordinator, Int) async throws -> Void
    ) async throws -> Instant {
        do { try await change(coordinator, services.count) } catch let error as ServiceError where error.code == .invalidArgument
        {
            throw ControlError.invalid(field, error.details.first?.message ?? error.message)
        } catch let error as ServiceError where error == .deadlineExceeded {
            throw ControlError.unavailable("The world is still busy with what became due; its clock was moved.")
        }
        return clock.now()
    }
}

/// What stands for everything outside of a world.
struct WorldStandIns: Sendable {
    let expo = ExpoStandIn()
    let mail = MailStandIn()
    let store: StoreStandIn

    init(world: String) { store = StoreStandIn(world: world) }
}
