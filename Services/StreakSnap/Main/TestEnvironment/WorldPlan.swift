import AuthService
import BillingService
import Cryptography
import DevEnvironment
import GatewayService
import Kernel
import Logging
import MediaService
import NotificationsService
import Runtime
import ServiceRuntime
import SocialService
import StreaksService

/// Where everything of a world is: the settings of its services.
struct WorldPlan: Sendable {
    /// Its name, also that of its database.
    let id: String
    /// Its account on the broker, 1 and up.
    let account: Int
    /// Holds its blobs and keys.
    let folder: String
    let endpoints: Endpoints
    /// Where its proxy of PostgreSQL is.
    let database: PostgresAddress
    /// Of its gateway, also while that is being started.
    let reserved: ReservedPort
    /// Of its mail server.
    let mailPort: Int
    /// Where its other stand-ins are; without a slash at the end.
    let standIns: String
    let logLevel: String
    /// What the test wants otherwise, by key.
    let given: [String: String]
    private let secret = WorldPlan.makeSecret()
    /// Connections of a service to PostgreSQL. A second one would parse and plan everything again: that is most of what a world costs.
    private static let pool = 1
    /// Connections of a world to PostgreSQL, unless its test wants more.
    static let connections = BusPermissions.services.count * pool

    private var port: Int { reserved.port }
    var url: String { "http://127.0.0.1:\(port)" }
    /// What RevenueCat sends with its webhooks, and is sent by us.
    var storeSecret: String { "store-\(secret)" }
    /// Of the version of the terms that people accept.
    var termsVersion: String { given["auth.terms-version"].flatMap { $0.isEmpty ? nil : $0 } ?? "2026-01" }

    /// What holds a world together; a test cannot change it.
    private static let own: Set<String> = [
        "nats.url", "nats.user", "nats.password", "nats.stream-replicas", "admin.port", "admin.host", "database.url", "dev.clock",
        "log.level", "http.port", "http.host", "blob.store", "blob.folder", "auth.key-folder", "auth.refresh-secret",
        "auth.apple-client-ids", "auth.apple-keys-url", "media.signing-key", "media.public-url", "notifications.smtp-url",
        "notifications.smtp-ca-file", "notifications.mail-from", "notifications.mail-folder", "notifications.push-url",
        "billing.webhook-secret", "billing.webhook-signing-secret", "billing.revenuecat-url", "billing.revenuecat-key",
        "gateway.services", "seal.key", "gateway.seal-keys",
    ]

    /// Whether a test may set these.
    ///
    /// - Throws: `VALIDATION_ERROR` naming the setting.
    static func check(_ given: [String: String]) throws(ControlError) {
        let known = Set(declared.values.joined().map(\.key))
        for key in given.keys.sorted() {
            guard known.contains(key) else { throw .invalid("settings.\(key)", "is no setting of a service") }
            guard !own.contains(key) else { throw .invalid("settings.\(key)", "is set by the test environment") }
        }
        do throws(Settings.Invalid) { _ = try quotas(given) } catch {
            throw .invalid("settings.quotas", "cannot be used: \(error)")
        }
    }

    private static func quotas(_ given: [String: String]) throws(Settings.Invalid) -> QuotaParts {
        try QuotaParts(given[ServiceSettings.quotas.key] ?? "")
    }

    private static let declared: [String: [any AnySetting]] = [
        "auth": AuthModule.settings, "social": SocialModule.settings, "streaks": StreaksModule.settings,
        "media": MediaModule.settings, "notifications": NotificationsModule.settings, "billing": BillingModule.settings,
        "gateway": GatewayHost.settings,
    ]

    /// The settings of an executable.
    func settings(of name: String) -> Settings { Settings(values: values(of: name), declared: Self.declared[name] ?? []) }

    private func values(of name: String) -> [String: String] {
        var values = [
            // What a test waits for, or asks more often than people do.
            "auth.bcrypt-cost": "4", "auth.admin-second-factor": "enrolled", "http.user-rate": "0", "http.address-rate": "0",
            "auth.address-registrations": "0", "auth.registrations": "0", "http.drain-timeout": "0",
            "notifications.push-spread": "0",
            "database.pool": "\(Self.pool)", "database.presence": "false",
        ].merging(given) { $1 }
        values.merge(
            [
                "nats.url": endpoints.natsURL, "nats.user": NATSConfiguration.name(of: name, inAccount: account),
                "nats.password": endpoints.natsPassword(of: name) ?? "", "dev.clock": "true", "log.level": logLevel,
                "http.port": "\(port)", "blob.folder": folder + "/blobs", "auth.key-folder": folder + "/keys",
                "auth.refresh-secret": "refresh-\(secret)", "auth.apple-client-ids": AppleStandIn.app,
                "auth.apple-keys-url": standIns + "/apple/keys", "media.signing-key": "blobs-\(secret)", "media.public-url": url,
                "notifications.smtp-url": "smtp://127.0.0.1:\(mailPort)",
                "notifications.mail-from": "StreakSnap <no-reply@streaksnap.test>",
                "notifications.push-url": standIns + "/expo", "billing.webhook-secret": storeSecret,
                "billing.revenuecat-url": standIns + "/store", "billing.revenuecat-key": storeSecret,
            ]
        ) { $1 }
        if let database = endpoints.postgresURL(of: name, database: id, at: database) { values["database.url"] = database }
        if name == "gateway" {
            values["gateway.seal-keys"] = endpoints.sealKeysOfAll
        } else {
            values["seal.key"] = endpoints.sealKey(of: name)
            // `check` has refused what is none.
            values[ServiceSettings.quotas.key] = (try? Self.quotas(given))?.text(of: name)
        }
        return values
    }

    /// A service that is not started yet.
    ///
    /// - Throws: `Settings.Invalid`.
    func service(_ name: String) throws -> any Program {
        switch name {
        case "auth": try host(AuthModule.self)
        case "social": try host(SocialModule.self)
        case "streaks": try host(StreaksModule.self)
        case "media": try host(MediaModule.self)
        case "notifications": try host(NotificationsModule.self)
        default: try host(BillingModule.self)
        }
    }

    /// The gateway, not started yet.
    ///
    /// - Parameter clock: the world's. One of its own would follow it a second later.
    /// - Throws: `Settings.Invalid`.
    func gateway(_ clock: DevelopmentClock) throws -> GatewayHost {
        let settings = settings(of: "gateway")
        return try GatewayHost(
            settings: settings,
            logger: try logger("gateway", settings),
            metrics: Metrics(),
            clock: clock,
            descriptors: Self.descriptors
        )
    }

    /// The services of all worlds are the same.
    private static let descriptors = DescriptorCache()

    private func host<Module: ServiceModule>(_: Module.Type) throws -> any Program {
        let settings = settings(of: Module.name)
        return try ServiceHost<Module>(settings: settings, logger: try logger(Module.name, settings), metrics: Metrics())
    }

    private func logger(_ name: String, _ settings: Settings) throws -> Logger {
        var logger = try Logger(service: name, settings: settings)
        logger[metadataKey: "world"] = "\(id)"
        return logger
    }

    /// 64 unguessable characters.
    static func makeSecret() -> String {
        Unguessable.bytes(32).map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
    }
}
