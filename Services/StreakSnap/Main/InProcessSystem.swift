import AuthService
import BillingService
import GatewayService
import Logging
import MediaService
import NotificationsService
import Runtime
import SocialService
import StreaksService

/// The seven services in this process: the same code and subjects as apart (D10).
struct InProcessSystem: RunningSystem {
    private let hosts: [any Replica]
    private let gateway: GatewayHost
    private let admin: Task<Void, Never>?

    static func start(_ plan: Plan, logger: Logger) async throws -> InProcessSystem {
        let metrics = Metrics()
        let hosts: [any Replica] = [
            try make(AuthModule.self, plan, metrics), try make(SocialModule.self, plan, metrics),
            try make(StreaksModule.self, plan, metrics), try make(MediaModule.self, plan, metrics),
            try make(NotificationsModule.self, plan, metrics), try make(BillingModule.self, plan, metrics),
        ]
        let settings = Settings(values: plan.values(of: "gateway"), declared: CommonSettings.process + GatewaySettings.all)
        let gateway = try GatewayHost(
            settings: settings,
            logger: try Logger(service: "gateway", settings: settings),
            metrics: metrics
        )
        let adminSettings = Settings(
            values: ["admin.port": String(plan.options.adminPort)],
            declared: CommonSettings.process
        )
        let admin = try AdminServer.start(adminSettings, metrics: metrics, logger: logger) {
            gateway.isReady && hosts.allSatisfy(\.isReady)
        }
        for host in hosts { try await host.start() }
        _ = try await gateway.start()
        return InProcessSystem(hosts: hosts, gateway: gateway, admin: admin)
    }

    func isReady() async -> Bool { gateway.isReady }

    func stop() async {
        await gateway.stop()
        for host in hosts.reversed() { await host.stop() }
        admin?.cancel()
    }

    private static func make<Module: ServiceModule>(_: Module.Type, _ plan: Plan, _ metrics: Metrics) throws -> any Replica {
        let settings = Settings(values: plan.values(of: Module.name), declared: CommonSettings.service + Module.settings)
        let logger = try Logger(service: Module.name, settings: settings)
        return try ServiceHost<Module>(settings: settings, logger: logger, metrics: metrics)
    }
}

/// One service of whatever module.
private protocol Replica: Sendable {
    var isReady: Bool { get }
    func start() async throws
    func stop() async
}

extension ServiceHost: Replica {}
