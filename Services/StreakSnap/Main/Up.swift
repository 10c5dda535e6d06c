import ArgumentParser
import DevEnvironment
import Kernel
import Logging
import Runtime
import Synchronization

/// Starts a private NATS and PostgreSQL and every service, and runs until it is stopped.
struct Up: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run every service against a private NATS and PostgreSQL that this command starts."
    )

    @Option(help: "Port of the public API, 1 to 65535.") var port = 8080
    @Option(
        help: "IPv4 address of this machine that the public API listens on; 0.0.0.0 for all. Everything else stays on 127.0.0.1."
    )
    var host = PublicAddress.loopback
    @Option(help: "Folder for everything that lasts.") var data = ".run/data"
    @Option(help: "Port of NATS; a free one when absent.") var natsPort: UInt16?
    @Option(help: "Port of PostgreSQL; a free one when absent.") var postgresPort: UInt16?
    @Flag(help: "Run the seven executables as processes instead of in this one.") var separate = false
    @Flag(help: "Let POST /api/dev/clock move the time of the whole environment.") var devClock = false
    @Option(help: "Cost of password hashes, 4 to 14; 12 when absent.") var bcryptCost: Int?
    @Option(help: "File that is written with the address when everything answers.") var readyFile: String?
    @Option(help: "How much is logged; info when absent.") var logLevel: String?
    @Option(
        help:
            "Port of /metrics, /healthz and /readyz; with --separate that of the gateway, the services take the next six. 0 means none."
    )
    var adminPort: Int?
    @Option(
        help:
            "JSON file that names services of other repositories, which get users on the bus, roles in the database and consumers."
    )
    var services: String?
    @Option(help: "Collector that spans are sent to as OTLP/HTTP, http://127.0.0.1:4318.") var otlpEndpoint: String?

    func validate() throws {
        guard (1...65_535).contains(port) else { throw ValidationError("--port must be from 1 to 65535, not \(port).") }
        guard natsPort != 0, postgresPort != 0 else {
            throw ValidationError("--nats-port and --postgres-port must be from 1 to 65535.")
        }
        guard PublicAddress.isIPv4(host) else {
            throw ValidationError("--host must be an IPv4 address of this machine, or 0.0.0.0 for all, not \(host).")
        }
        let last = 65_535 - (separate ? Plan.services.count : 0)
        guard (0...last).contains(adminPort ?? 0) else {
            throw ValidationError("--admin-port must be from 0 to \(last), not \(adminPort ?? 0).")
        }
    }

    func run() async throws {
        // NATS and PostgreSQL inherit both.
        Scheduling.preferThroughput()
        OpenFiles.allowMany()
        let settings: Settings
        let logger: Logger
        let ports: Plan.Ports
        let further: FurtherServices
        do {
            settings = try await Plan.settings(of: self)
            logger = try Logger(service: "streaksnap", settings: settings)
            ports = Plan.Ports(self, firstAdmin: try settings.get(CommonSettings.adminPort))
            further = try .given(services)
        } catch {
            Console.error("streaksnap: \(error)\n")
            throw ExitCode(64)
        }
        var configuration = DevEnvironmentConfiguration(dataFolder: data, natsPort: natsPort, postgresPort: postgresPort)
        configuration.services = further
        let environment = DevEnvironment(configuration, logger: logger)
        let stop = await StopRequest()
        let endpoints: Endpoints
        do {
            // Before anything is started, which takes seconds.
            try ports.check()
            endpoints = try await environment.start()
        } catch let error as DevEnvironmentError {
            Console.error("streaksnap: \(error)\n")
            throw ExitCode(1)
        }
        do {
            let plan = Plan(
                endpoints: endpoints,
                options: self,
                dataFolder: configuration.dataFolder,
                ports: ports,
                settings: settings,
                further: further
            )
            try await serve(plan, until: stop, logger: logger)
        } catch is StopRequest.Came {
            // Before it was ready.
        } catch {
            Console.error("streaksnap: could not start: \(error)\n")
            await environment.stop()
            throw ExitCode(1)
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
        let demo = try plan.settings.get(CommonSettings.developmentClock) ? "\n  open \(address.url)/demo" : ""
        let files = plan.further.names.map { "\n  settings of \($0): \(plan.settingsFile(of: $0))" }.joined()
        Console.out(
            """
            ready \(address.url)
              curl \(address.url)/api/health
              deploy/dev demo --port \(port)\(host == PublicAddress.loopback ? "" : " --host \(host)")
              open \(address.url)/docs\(demo)\(files)
            \(address.isLoopback ? "" : address.remark)
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

    init() async {
        let signals = await StopSignals()
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
