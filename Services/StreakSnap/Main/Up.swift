import ArgumentParser
import DevEnvironment
import Glibc
import Kernel
import Logging
import Runtime

/// Starts a private NATS and PostgreSQL and every service, and runs until it is told to stop.
struct Up: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run every service against a private NATS and PostgreSQL that this command starts."
    )

    @Option(help: "Port of the public API.") var port = 8080
    @Option(help: "Folder for everything that lasts.") var data = ".run/data"
    @Option(help: "Port of NATS; a free one when absent.") var natsPort: UInt16?
    @Option(help: "Port of PostgreSQL; a free one when absent.") var postgresPort: UInt16?
    @Flag(help: "Run the seven executables as processes instead of in this one.") var separate = false
    @Flag(help: "Let POST /api/dev/clock move the time of the whole environment.") var devClock = false
    @Option(help: "Cost of password hashes, 4 to 14.") var bcryptCost = 12
    @Option(help: "File that is written with the address when everything answers.") var readyFile: String?
    @Option(help: "How much is logged.") var logLevel = "info"
    @Option(
        help:
            "Port of /metrics, /healthz and /readyz; with --separate that of the gateway, the services take the next six. 0 means none."
    )
    var adminPort = 0
    @Option(help: "Collector that spans are sent to as OTLP/HTTP, http://127.0.0.1:4318.") var otlpEndpoint = ""

    func run() async throws {
        // NATS and PostgreSQL inherit it.
        Scheduling.preferThroughput()
        let settings = Settings(values: ["log.level": logLevel], declared: CommonSettings.process)
        let logger = try Logger(service: "streaksnap", settings: settings)
        let environment = DevEnvironment(
            DevEnvironmentConfiguration(dataFolder: data, natsPort: natsPort, postgresPort: postgresPort),
            logger: logger
        )
        let endpoints: Endpoints
        do { endpoints = try await environment.start() } catch let error as DevEnvironmentError {
            Console.error("streaksnap: \(error)\n")
            throw ExitCode(1)
        }
        let plan = Plan(endpoints: endpoints, options: self, dataFolder: DevEnvironmentConfiguration(dataFolder: data).dataFolder)
        do {
            let streams = try await ProvisionedStreams.start(endpoints, hasDevelopmentClock: devClock, logger: logger)
            let system: any RunningSystem =
                separate
                ? try await SeparateSystem.start(plan, logger: logger) : try await InProcessSystem.start(plan, logger: logger)
            try await announce(system, plan)
            await ServiceMain.untilAskedToStop()
            await system.stop()
            await streams.stop()
        } catch {
            Console.error("streaksnap: could not start: \(error)\n")
            await environment.stop()
            throw ExitCode(1)
        }
        await environment.stop()
    }

    private func announce(_ system: any RunningSystem, _ plan: Plan) async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while !(await system.isReady()) {
            guard ContinuousClock.now < deadline else { throw NotReady(logs: plan.logFolder) }
            try await Task.sleep(for: .milliseconds(50))
        }
        let address = "http://127.0.0.1:\(port)"
        if let readyFile { try plan.write(address + "\n", to: readyFile) }
        Console.out(
            """
            ready \(address)
              curl \(address)/api/health
              deploy/dev demo --port \(port)
              open \(address)/docs

            """
        )
    }

    private struct NotReady: Error, CustomStringConvertible {
        let logs: String
        var description: String { "not every service answered within 60 s; see \(logs)" }
    }
}

/// Every service, however it runs.
protocol RunningSystem: Sendable {
    /// Whether the gateway answers and every service answers it.
    func isReady() async -> Bool
    /// Stops the gateway first, then the services.
    func stop() async
}
