internal import Bus
private import Glibc
internal import Kernel
public import Logging
internal import UnixSignals

/// The body of a service's executable.
public enum ServiceMain {
    /// Runs one replica until SIGTERM or SIGINT, then drains it. Never returns normally: exits 0 after a clean stop, 64 for unusable
    /// settings, 1 when it could not start.
    public static func run<Module: ServiceModule>(_: Module.Type) async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let declared = CommonSettings.service + Module.settings
        if arguments.contains("--help") {
            Console.out(Settings.help(program: Module.name, about: Module.about, declared: declared) + EventsCommand.help)
            return
        }
        if arguments.contains("--version") {
            Console.out(BuildInfo.version + "\n")
            return
        }
        let events = EventsCommand(arguments)
        do {
            let settings = try await Settings(
                arguments: events?.remaining ?? arguments,
                environment: Console.environment(),
                declared: declared
            )
            guard let events else { return try await serve(Module.self, settings) }
            Console.out(try await events.run(schema: Module.name, settings))
        } catch let error as Settings.Invalid {
            Console.error("\(Module.name): \(error)\n")
            exit(64)
        } catch {
            Console.error("\(Module.name): could not start: \(error)\n")
            exit(1)
        }
    }

    private static func serve<Module: ServiceModule>(_: Module.Type, _ settings: Settings) async throws {
        Scheduling.preferThroughput()
        let logger = try Logger(service: Module.name, settings: settings)
        let metrics = Metrics()
        let host = try ServiceHost<Module>(settings: settings, logger: logger, metrics: metrics)
        let admin = try AdminServer.start(settings, metrics: metrics, logger: logger) { host.isReady }
        try await host.start()
        await Self.untilAskedToStop()
        await host.stop()
        admin?.cancel()
    }

    /// Returns at the first SIGTERM or SIGINT.
    public static func untilAskedToStop() async {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        for await _ in signals { return }
    }
}

extension AdminServer {
    /// Starts the admin port when the settings name one.
    public static func start(
        _ settings: Settings,
        metrics: Metrics,
        logger: Logger,
        isReady: @escaping @Sendable () -> Bool
    ) throws -> Task<Void, Never>? {
        let port = try settings.get(CommonSettings.adminPort)
        guard port != 0 else { return nil }
        let server = AdminServer(
            host: try settings.get(CommonSettings.adminHost),
            port: port,
            metrics: metrics,
            logger: logger,
            isReady: isReady
        )
        return Task {
            do { try await server.run() } catch is CancellationError {} catch {
                logger.error("the admin port is not served", metadata: ["port": "\(port)", "error": "\(error)"])
            }
        }
    }
}

extension Logger {
    /// A logger that writes JSON lines with the service's name.
    ///
    /// - Throws: `Settings.Invalid` for an unknown level.
    public init(service: String, settings: Settings) throws {
        let text = try settings.get(CommonSettings.logLevel)
        guard let level = Logger.Level(rawValue: text) else {
            throw Settings.Invalid("--log-level must be trace, debug, info, notice, warning, error or critical.")
        }
        self.init(label: service) { label in JSONLogHandler(service: label, level: level) }
    }
}
