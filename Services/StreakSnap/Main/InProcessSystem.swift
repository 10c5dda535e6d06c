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
    private let hosts: [any Stoppable]
    private let gateway: GatewayHost

    static func start(_ plan: Plan) async throws -> InProcessSystem {
        let hosts: [any Stoppable] = [
            try await start(AuthModule.self, plan), try await start(SocialModule.self, plan),
            try await start(StreaksModule.self, plan),
            try await start(MediaModule.self, plan), try await start(NotificationsModule.self, plan),
            try await start(BillingModule.self, plan),
        ]
        let settings = Settings(values: plan.values(of: "gateway"), declared: CommonSettings.process + GatewaySettings.all)
        let gateway = try GatewayHost(settings: settings, logger: try Logger(service: "gateway", settings: settings))
        _ = try await gateway.start()
        return InProcessSystem(hosts: hosts, gateway: gateway)
    }

    func isReady() async -> Bool { gateway.isReady }

    func stop() async {
        await gateway.stop()
        for host in hosts.reversed() { await host.stop() }
    }

    private static func start<Module: ServiceModule>(_: Module.Type, _ plan: Plan) async throws -> any Stoppable {
        let settings = Settings(values: plan.values(of: Module.name), declared: CommonSettings.service + Module.settings)
        let host = try ServiceHost<Module>(settings: settings, logger: try Logger(service: Module.name, settings: settings))
        try await host.start()
        return host
    }
}

/// Something that runs until it is stopped.
protocol Stoppable: Sendable {
    func stop() async
}

extension ServiceHost: Stoppable {}
