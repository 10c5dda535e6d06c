import DevEnvironment
import Kernel
import Logging
import Runtime
import ServiceRuntime
import Synchronization

/// Starts a private NATS and PostgreSQL and every service, and runs until it is stopped.
struct Up: Sendable {
    static let command = ProgramCommand(
        "up",
        about: "runs every service against a private NATS and PostgreSQL that this command starts",
        settings: Option.all
    ) { _, settings in
        try await Up(settings).run()
        return .init("")
    }

    let port: Int
    let host: String
    let data: String
    let natsPort: UInt16?
    let postgresPort: UInt16?
    let separate: Bool
    let devClock: Bool
    let bcryptCost: Int?
    let readyFile: String?
    let logLevel: String?
    let adminPort: Int?
    let services: String?
    let otlpEndpoint: String?

    private enum Option {
        static let port = Setting(option: "port", default: 8080, in: 1...65_535, help: "Port of the public API.")
        static let host = Setting(
            option: "host",
            default: PublicAddress.loopback,
            help:
                "IPv4 address of this machine that the public API listens on; 0.0.0.0 for all. Everything else stays on 127.0.0.1."
        )
        static let data = Setting(option: "data", default: ".run/data", help: "Folder for everything that lasts.")
        static let natsPort = Setting<Int>(
            option: "nats-port",
            default: nil,
            in: 1...65_535,
            help: "Port of NATS; a free one when absent."
        )
        static let postgresPort = Setting<Int>(
            option: "postgres-port",
            default: nil,
            in: 1...65_535,
            help: "Port of PostgreSQL; a free one when absent."
        )
        static let separate = Setting(
            option: "separate",
            default: false,
            help: "Run the seven executables as processes instead of in this one."
        )
        static let devClock = Setting(
            option: "dev-clock",
            default: false,
            help: "Let POST /api/dev/clock move the time of the whole environment."
        )
        static let bcryptCost = Setting<Int>(
            option: "bcrypt-cost",
            default: nil,
            help: "Cost of password hashes, 4 to 14; 12 when absent."
        )
        static let readyFile = Setting<String>(
            option: "ready-file",
            default: nil,
            help: "File that is written with the address when everything answers."
        )
        static let logLevel = Setting<String>(option: "log-level", default: nil, help: "How much is logged; info when absent.")
        static let adminPort = Setting<Int>(
            option: "admin-port",
            default: nil,
            in: 0...65_535,
            help:
                "Port of /metrics, /healthz and /readyz; with --separate that of the gateway, the services take the next six. 0 means none."
        )
        static let otlpEndpoint = Setting<String>(
            option: "otlp-endpoint",
            default: nil,
            help: "Collector that spans are sent to as OTLP/HTTP, http://127.0.0.1:4318."
        )
        static let all: [any AnySetting] = [
            port, host, data, natsPort, postgresPort, separate, devClock, bcryptCost, readyFile, logLevel, adminPort,
            FurtherServices.option, otlpEndpoint,
        ]
    }

    /// - Throws: `Settings.Invalid`.
    private init(_ options: Settings) throws {
        port = try options.get(Option.port)
        host = try options.get(Option.host)
        data = try options.get(Option.data)
        natsPort = try options.find(Option.natsPort).map(UInt16.init)
        postgresPort = try options.find(Option.postgresPort).map(UInt16.init)
        separate = try options.get(Option.separate)
        devClock = try options.get(Option.devClock)
        bcryptCost = try options.find(Option.bcryptCost)
        readyFile = try options.find(Option.readyFile)
        logLevel = try options.find(Option.logLevel)
        adminPort = try options.find(Option.adminPort)
        services = try options.find(FurtherServices.option)
        otlpEndpoint = try options.find(Option.otlpEndpoint)
        guard PublicAddress.isIPv4(host) else {
            throw Option.host.invalid("must be an IPv4 address of this machine, or 0.0.0.0 for all, not \(host).")
        }
        let last = 65_535 - (separate ? Plan.services.count : 0)
        guard (0...last).contains(adminPort ?? 0) else {
            throw Option.adminPort.invalid("must be from 0 to \(last), not \(adminPort ?? 0).")
        }
    }

    private func run() async throws {
        // NATS and PostgreSQL inherit both.
        Scheduling.preferThroughput()
        OpenFiles.allowMany()
        let settings = try Plan.settings(of: self)
        let logger = try Logger(service: "streaksnap", settings: settings)
        let ports = Plan.Ports(self, firstAdmin: try settings.get(CommonSettings.adminPort))
        let further = try FurtherServices.given(services)
        let quotas = try QuotaParts(try settings.get(ServiceSettings.quotas))
        var configuration = DevEnvironmentConfiguration(dataFolder: data, natsPort: natsPort, postgresPort: postgresPort)
        configuration.services = further
        let environment = DevEnvironment(configuration, logger: logger)
        let stop = try StopRequest()
        // Before anything is started, which takes seconds.
        try ports.check()
        let endpoints = try await environment.start()
        do {
            let plan = Plan(
                endpoints: endpoints,
                options: self,
                dataFolder: configuration.dataFolder,
                ports: ports,
                settings: settings,
                further: further,
                quotas: quotas
            )
            try await serve(plan, until: stop, logger: logger)
        } catch is StopRequest.Came {
            // Before it was ready.
        } catch {
            await environment.stop()
            throw ProgramCommand.Failure("could not start: \(error)")
        }
        await environment.stop()
    }

    /// Runs the services from their start until they have stopped.
    private func serve(_ plan: Plan, until stop: StopRequest, logger: Logger) async throws {
        try stop.check()
        try plan.writeFilesOfFurtherServices()
        let streams = try await ProvisionedStreams.start(
            plan.endpoints,
            services: plan.further,
            hasDevelopmentClock: try plan.settings.get(CommonSettings.developmentClock),
            logger: logger
        )
        let system: any RunningSystem =
            separate
            ? try await SeparateSystem.start(plan, logger: logger) : try await InProcessSystem.start(plan, logger: logger)
        do {
            try await untilReady(system, plan, stop)
            try announce(plan)
            await stop.wait()
        } catch {
            await system.stop()
            await streams.stop()
            throw error
        }
        await system.stop()
        await streams.stop()
    }

    private func untilReady(_ system: any RunningSystem, _ plan: Plan, _ stop: StopRequest) async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while !(await system.isReady()) {
            try stop.check()
            guard ContinuousClock.now < deadline else { throw NotReady(logs: plan.logFolder) }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private func announce(_ plan: Plan) throws {
        let address = plan.address
        if let readyFile { try plan.write(address.url + "\n", to: readyFile) }
        // Where the operator says that people reach it: in a container, or behind a proxy, this machine's addresses lead nowhere.
        let named = try plan.settings.get(LinkSettings.publicURL)
        let isNamed = !named.isEmpty && named != address.url
        let url = isNamed ? named : address.url
        let play = isNamed ? "" : "\n  deploy/dev demo --port \(port)\(host == PublicAddress.loopback ? "" : " --host \(host)")"
        let demo = try plan.settings.get(CommonSettings.developmentClock) ? "\n  open \(url)/demo" : ""
        let files = plan.further.names.map { "\n  settings of \($0): \(plan.settingsFile(of: $0))" }.joined()
        Console.out(
            """
            ready \(url)
              curl \(url)/api/health\(play)
              open \(url)/docs\(demo)\(files)
            \(address.isLoopback || isNamed ? "" : address.remark)
            """
        )
    }

    private struct NotReady: Error, CustomStringConvertible {
        let logs: String
        var description: String { "not every service answered within 60 s; see \(logs)" }
    }
}

/// A signal that asks to stop. One that comes while the system starts is obeyed as soon as what is being started runs: then it stops in
/// order too, and leaves no process behind.
private final class StopRequest: Sendable {
    /// What `check` throws.
    struct Came: Error {}

    private let hasCome = Atomic(false)
    private let (ends, end) = AsyncStream.makeStream(of: Void.self)

    init() throws {
        let signals = try StopSignals()
        Task { [self] in
            await signals.first()
            hasCome.store(true, ordering: .relaxed)
            end.finish()
        }
    }

    func check() throws(Came) {
        if hasCome.load(ordering: .relaxed) { throw Came() }
    }

    func wait() async { for await _ in ends {} }
}

/// Every service, however it runs.
protocol RunningSystem: Sendable {
    /// Whether the gateway answers and every service answers it.
    func isReady() async -> Bool
    /// Stops the gateway first, then the services.
    func stop() async
}
