import AuthService
import BillingService
import GatewayService
import Logging
import MediaService
import NotificationsService
import Runtime
import ServiceRuntime
import SocialService
import StreaksService

/// The seven services in this process: the same code and subjects as apart (D10).
struct InProcessSystem: RunningSystem {
    private let hosts: [any Program]
    private let gateway: GatewayHost
    private let admin: Task<Void, Never>?

    static func start(_ plan: Plan, logger: Logger) async throws -> InProcessSystem {
        let metrics = Metrics()
        let hosts: [any Program] = [
            try make(AuthModule.self, plan, metrics), try make(SocialModule.self, plan, metrics),
            try make(StreaksModule.self, plan, metrics), try make(MediaModule.self, plan, metrics),
            try make(NotificationsModule.self, plan, metrics), try make(BillingModule.self, plan, metrics),
        ]
        let settings = try settings("gateway", plan, GatewayHost.settings)
        let gateway = try GatewayHost(
            settings: settings,
            logger: try Logger(service: "gateway", settings: settings),
            metrics: metrics
        )
        let admin = try await AdminServer.start(
            plan.settings,
            metrics: metrics.labelled([("service", "streaksnap")]),
            logger: logger
        ) {
            gateway.isReady && hosts.allSatisfy(\.isReady)
        }
        for host in hosts { try await host.start() }
        try await gateway.start()
        return InProcessSystem(hosts: hosts, gateway: gateway, admin: admin)
    }

    func isReady() async -> Bool { gateway.isReady }

    func stop() async {
        await gateway.stop()
        for host in hosts.reversed() { await host.stop() }
        admin?.cancel()
    }

    /// As the executable would read them from its environment.
    private static func settings(_ name: String, _ plan: Plan, _ declared: [any AnySetting]) throws -> Settings {
        try Settings(arguments: [], environment: plan.environment(of: name), declared: declared)
    }

    private static func make<Module: ServiceModule>(_: Module.Type, _ plan: Plan, _ metrics: Metrics) throws -> any Program {
        let settings = try settings(Module.name, plan, Module.settings)
        let logger = try Logger(service: Module.name, settings: settings)
        return try ServiceHost<Module>(settings: settings, logger: logger, metrics: metrics)
    }
}
