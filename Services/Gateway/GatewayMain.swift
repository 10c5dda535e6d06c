private import Glibc
internal import Logging
internal import Runtime

/// The body of the gateway's executable.
public enum GatewayMain {
    /// Serves until SIGTERM or SIGINT. Exits 64 for unusable settings, 1 when it could not start.
    public static func run() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let declared = CommonSettings.process + GatewaySettings.all
        if arguments.contains("--help") {
            Console.out(Settings.help(program: "gateway", about: "HTTP in, bus requests out", declared: declared))
            return
        }
        if arguments.contains("--version") {
            Console.out(BuildInfo.version + "\n")
            return
        }
        do {
            let settings = try await Settings(arguments: arguments, environment: Console.environment(), declared: declared)
            Scheduling.preferThroughput()
            let logger = try Logger(service: "gateway", settings: settings)
            let metrics = Metrics()
            let host = try GatewayHost(settings: settings, logger: logger, metrics: metrics)
            let admin = try AdminServer.start(settings, metrics: metrics, logger: logger) { host.isReady }
            _ = try await host.start()
            await ServiceMain.untilAskedToStop()
            await host.stop()
            admin?.cancel()
        } catch let error as Settings.Invalid {
            Console.error("gateway: \(error)\n")
            exit(64)
        } catch {
            Console.error("gateway: could not start: \(error)\n")
            exit(1)
        }
    }
}
