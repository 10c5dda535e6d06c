import Bus
import DevEnvironment
import Kernel
import Logging
import Outbox
import Runtime
import Tokens

/// Makes the event streams and consumers of an installation whose services run apart; `up` does the same by itself.
enum Streams {
    /// Exactly one runs with --watch beside services that run apart.
    static let command = ProgramCommand(
        "streams",
        about: "makes the event streams and consumers on the broker, and with --watch makes them again after a loss",
        settings: declared
    ) { _, settings in
        if try settings.get(showsSettings) {
            return .init(
                Settings.help(program: "streaksnap streams", about: "makes event streams and consumers", declared: declared)
            )
        }
        do { try await provision(settings, watch: try settings.get(watch)) } catch let error as ServiceError {
            let hint = "Only the broker's user operator may make streams (--nats-user)."
            throw ProgramCommand.Failure("\(error.message) \(hint)")
        }
        return .init("")
    }

    private static let watch = Setting(
        option: "watch",
        default: false,
        help: "Go on until SIGTERM, and make again what gets lost."
    )
    private static let showsSettings = Setting(option: "settings", default: false, help: "Show this, as --help does.")
    private static let declared: [any AnySetting] = [
        watch, showsSettings, CommonSettings.natsURL, CommonSettings.natsUser, CommonSettings.natsPassword,
        CommonSettings.streamReplicas, CommonSettings.adminPort, CommonSettings.adminHost, CommonSettings.logLevel,
        CommonSettings.developmentClock, FurtherServices.setting,
    ]

    private static func provision(_ settings: Settings, watch: Bool) async throws {
        let logger = try Logger(service: "streams", settings: settings)
        let file = try settings.get(FurtherServices.setting)
        let services = file.isEmpty ? .none : try FurtherServices(file: file)
        var configuration = try BusConfiguration(settings, name: "operator")
        // Once it is asked in a script, it should say what is wrong; watching, it waits.
        configuration.connectTimeout = watch ? .days(365) : .seconds(10)
        let bus = try await BusConnection.connect(configuration, logger: logger)
        let provisioner = StreamProvisioner(
            .streaksnap(
                replicas: try settings.get(CommonSettings.streamReplicas),
                services: services,
                hasDevelopmentClock: try settings.get(CommonSettings.developmentClock)
            ),
            jetStream: JetStream(connection: bus),
            logger: logger
        )
        guard watch else {
            try await provisioner.provision()
            return await bus.close()
        }
        let admin = try await AdminServer.start(settings, metrics: Metrics().labelled([("service", "streams")]), logger: logger) {
            provisioner.isComplete && bus.isConnected
        }
        let watching = Task { await provisioner.watch() }
        try await StopSignals().first()
        watching.cancel()
        await watching.value
        admin?.cancel()
        await bus.close()
    }
}

extension EventTopology {
    /// What the six services, further ones and the gateways need.
    static func streaksnap(replicas: Int = 1, services: FurtherServices = .none, hasDevelopmentClock: Bool) -> EventTopology {
        let names = BusPermissions.services + services.names
        var topology = EventTopology(services: names, sources: services.sources, replicas: replicas)
        topology.streams.append(Stream(RevocationStream.configuration(replicas: replicas)))
        if hasDevelopmentClock { topology.streams.append(Stream(DevelopmentClockState.configuration)) }
        return topology
    }
}

/// The same inside `up`, from before the first service starts until after the last has ended.
struct ProvisionedStreams: Sendable {
    private let bus: BusConnection
    private let watching: Task<Void, Never>

    /// - Throws: `BusConnectionError`, `JetStreamError` or `ServiceError` when the private broker does not do what it should.
    static func start(
        _ endpoints: Endpoints,
        services: FurtherServices = .none,
        hasDevelopmentClock: Bool,
        logger: Logger
    ) async throws -> ProvisionedStreams {
        let bus = try await BusConnection.connect(
            BusConfiguration(
                url: endpoints.natsURL,
                name: "operator",
                user: "operator",
                password: endpoints.natsPassword(of: "operator"),
                inboxPrefix: "_INBOX.operator"
            ),
            logger: logger
        )
        let provisioner = StreamProvisioner(
            .streaksnap(services: services, hasDevelopmentClock: hasDevelopmentClock),
            jetStream: JetStream(connection: bus),
            logger: logger
        )
        do { try await provisioner.provision() } catch {
            await bus.close()
            throw error
        }
        return ProvisionedStreams(bus: bus, watching: Task { await provisioner.watch() })
    }

    func stop() async {
        watching.cancel()
        await watching.value
        await bus.close()
    }
}
