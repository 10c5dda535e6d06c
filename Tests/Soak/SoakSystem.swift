import AuthAPI
import Bus
import DevEnvironment
import Foundation
import Kernel
import Logging
import Outbox
import Runtime
import SocialAPI

/// The real `streaks` and `billing` as processes on a private broker and database, on the development clock. Nothing else runs: what
/// `auth`, `social` and the stores behind `billing` would have emitted is emitted here, with their rights, and what `streaks` asks
/// `social` at its start is answered: there are no blocks and no circles yet. To `billing` all users exist.
struct SoakSystem {
    let bus: BusConnection
    /// Answers and speaks as `auth`.
    let auth: (connection: BusConnection, service: BusService)
    /// Speaks as `billing`.
    let billing: BusConnection
    /// Answers and speaks as `social`.
    let social: (connection: BusConnection, service: BusService)
    let clock: DevelopmentClock
    private let coordinator: DevelopmentClockCoordinator
    private let replicas: Int
    private let environment: DevEnvironment
    private let processes: ServiceProcesses

    struct NotReady: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameters:
    ///   - folder: takes everything, logs too.
    ///   - binaries: the folder of the executables.
    ///   - settlers: replicas of `streaks`.
    static func start(folder: String, binaries: String, settlers: Int, logger: Logger) async throws -> SoakSystem {
        // Nothing of it is to outlive the run, so the disk need not keep up.
        let environment = DevEnvironment(
            DevEnvironmentConfiguration(
                dataFolder: "\(folder)/data",
                postgresSettings: [
                    "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
                    // In the folder: in /dev/shm it would outlive a server that was killed.
                    "dynamic_shared_memory_type": "mmap",
                ]
            ),
            logger: logger
        )
        let endpoints = try await environment.start()
        let processes = ServiceProcesses(logFolder: "\(folder)/data/logs", pidFolder: "\(folder)/data", logger: logger)
        do {
            let bus = try await connect("operator", endpoints, logger)
            let billing = try await connect("billing", endpoints, logger)
            var topology = EventTopology(services: BusPermissions.services, sources: BusPermissions.sources)
            topology.streams.append(EventTopology.Stream(DevelopmentClockState.configuration))
            try await StreamProvisioner(topology, jetStream: JetStream(connection: bus), logger: logger).provision()
            let social = try await answer(as: "social", try await connect("social", endpoints, logger), socialEndpoints, logger)
            let auth = try await answer(as: "auth", try await connect("auth", endpoints, logger), authEndpoints, logger)
            let names = (0..<settlers).map { ("streaks", "streaks-\($0 + 1)") } + [("billing", "billing")]
            try await processes.start(
                names.map { service, name in
                    ServiceProcesses.Executable(
                        name: name,
                        path: "\(binaries)/\(service)",
                        environment: variables(of: service, endpoints, blobs: "\(folder)/data/blobs")
                    )
                }
            )
            let clock = DevelopmentClock()
            let system = SoakSystem(
                bus: bus,
                auth: auth,
                billing: billing,
                social: social,
                clock: clock,
                coordinator: DevelopmentClockCoordinator(bus: bus, clock: clock),
                replicas: settlers + 1,
                environment: environment,
                processes: processes
            )
            try await system.awaitReplicas(logs: "\(folder)/data/logs")
            return system
        } catch {
            await processes.stop()
            await environment.stop()
            throw error
        }
    }

    private static let socialEndpoints = [
        Endpoint(SafetyMethods.listBlockSnapshots) { _, _ in ListBlockSnapshotsReply() },
        Endpoint(CirclesMethods.listCircleSnapshots) { _, _ in ListCircleSnapshotsReply() },
    ]
    private static let authEndpoints = [
        // Billing asks whether those to whom coins are granted exist.
        Endpoint(ProfilesMethods.getSummaries) { request, _ in
            GetSummariesReply(profiles: request.userIDs.map { ProfileState(userID: $0, status: .active) })
        }
    ]

    private static func answer(as name: String, _ connection: BusConnection, _ endpoints: [Endpoint], _ logger: Logger)
        async throws
        -> (connection: BusConnection, service: BusService)
    {
        let service = BusService(
            connection: connection,
            name: name,
            version: "1.0.0",
            endpoints: endpoints,
            logger: logger
        )
        try await service.start()
        return (connection, service)
    }

    private static func variables(of service: String, _ endpoints: Endpoints, blobs: String) -> [String: String] {
        [
            "STREAKSNAP_NATS_URL": endpoints.natsURL, "STREAKSNAP_NATS_USER": service,
            "STREAKSNAP_NATS_PASSWORD_FILE": endpoints.natsPasswordFile(of: service),
            "STREAKSNAP_DATABASE_URL": endpoints.postgresURL(of: service) ?? "", "STREAKSNAP_DEV_CLOCK": "true",
            "STREAKSNAP_LOG_LEVEL": "warning", "STREAKSNAP_TRACE_SAMPLE_RATIO": "0", "STREAKSNAP_BLOB_FOLDER": blobs,
        ]
    }

    private static func connect(_ user: String, _ endpoints: Endpoints, _ logger: Logger) async throws -> BusConnection {
        try await BusConnection.connect(
            BusConfiguration(
                url: endpoints.natsURL,
                name: "soak",
                user: user,
                password: endpoints.natsPassword(of: user),
                inboxPrefix: "_INBOX.\(user)"
            ),
            logger: logger
        )
    }

    private func awaitReplicas(logs: String) async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while try await coordinator.countReplicas() < replicas {
            try Task.checkCancellation()
            guard ContinuousClock.now < deadline else {
                throw NotReady(description: "the services did not start within 60 s; see \(logs)")
            }
        }
    }

    /// Moves the clock there; everything due by then has been done when it returns.
    func go(to instant: Instant) async throws { try await coordinator.set(to: instant, replicas: replicas) }

    /// Waits until every event that was emitted has been consumed.
    func settle() async throws { try await go(to: clock.now() + .seconds(1)) }

    func stop() async {
        await bus.close()
        await auth.connection.close()
        await billing.close()
        await social.connection.close()
        await processes.stop()
        await environment.stop()
    }
}
