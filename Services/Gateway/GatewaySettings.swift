internal import BlobConfiguration
internal import Bus
internal import Logging
public import Runtime

/// What an operator can set on the gateway beyond what every executable has.
public enum GatewaySettings {
    /// Port of the public API.
    public static let port = Setting(
        "http.port",
        default: 8080,
        in: 0...65_535,
        help: "Port of the public API; 0 picks a free one."
    )
    static let host = Setting("http.host", default: "127.0.0.1", help: "Address the public API listens on.")
    static let idleTimeout = Setting(
        "http.idle-timeout",
        default: 60,
        in: 1...86_400,
        help: "Seconds after which a connection on which nothing moves is closed."
    )
    static let headTimeout = Setting(
        "http.head-timeout",
        default: 10,
        in: 1...86_400,
        help: "Seconds the request line and headers of a request may take to arrive."
    )
    static let headMemory = Setting(
        "http.head-memory",
        default: 32,
        in: 1...65_536,
        help: "MiB of memory for request lines and headers that are still arriving, of which one address has an eighth; "
            + "more are answered UNAVAILABLE at once."
    )
    static let bodyTimeout = Setting(
        "http.body-timeout",
        default: 120,
        in: 1...86_400,
        help: "Seconds a request's body may take to arrive; a large one a second for each 125 kB."
    )
    static let maxConnections = Setting(
        "http.max-connections",
        default: 20_000,
        in: 1...1_000_000,
        help: "Connections served at once; for more, those that have been idle longest are closed."
    )
    static let addressConnections = Setting(
        "http.address-connections",
        default: 2_500,
        in: 1...1_000_000,
        help:
            "Connections of one address (IPv6: of one /64) at once, trusted proxies excepted; for more, those that have been idle longest are "
            + "closed, or the new one when none is idle."
    )
    static let maxStreams = Setting(
        "http.max-streams",
        default: 15_000,
        in: 0...1_000_000,
        help: "Streams of server-sent events that are open at once; more are answered UNAVAILABLE. Each is a connection."
    )
    static let maxInFlight = Setting(
        "http.max-in-flight",
        default: 2_048,
        in: 1...1_000_000,
        help: "Requests handled at once, and as many whose bodies are arriving, of which one address has an eighth; "
            + "more are answered UNAVAILABLE at once."
    )
    static let drainTimeout = Setting(
        "http.drain-timeout",
        default: 30,
        in: 0...86_400,
        help: "Seconds an idle connection is kept when the gateway stops; what it sends until then is answered."
    )
    package static let trustedProxies = Setting(
        "http.trusted-proxies",
        default: "",
        help: "Addresses or ranges (10.0.0.0/8) of proxies whose X-Forwarded-For is believed, separated by commas."
    )
    static let corsOrigins = Setting(
        "http.cors-origins",
        default: "",
        help: "Origins (https://app.example.com) whose pages browsers let use the API, separated by commas; * for all."
    )
    static let userRate = Setting(
        "http.user-rate",
        default: 20,
        in: 0...1_000_000,
        help:
            "Requests a second one user may make in the long run; ten seconds' worth at once. 0: no limit. Some count as several."
    )
    static let addressRate = Setting(
        "http.address-rate",
        default: 200,
        in: 0...1_000_000,
        help: "The same for everything that comes from one address (IPv6: one /64)."
    )
    static let services = Setting(
        "gateway.services",
        default: "auth,social,streaks,media,notifications,billing",
        help: "Services that must answer before /readyz says so, separated by commas."
    )

    /// Seals principals (D23).
    static let sealKeys = Setting<String>(
        "gateway.seal-keys",
        default: nil,
        isSecret: true,
        help:
            "Keys with which principals are sealed, one for each service that has one (seal.key): auth:KEY social:KEY, with spaces, commas "
            + "or lines between them."
    )

    static let tokenService = Setting(
        "gateway.token-service",
        default: "auth",
        help: "The service that signs access tokens: only its keys verify them, and only it may have /.well-known/jwks.json."
    )
    static let webhookAuthorization = Setting(
        "gateway.webhook-authorization",
        default: "billing:/api/webhooks/revenuecat",
        help: "Webhooks whose Authorization header the service gets, service:path, separated by commas; it goes to no other path."
    )
    static let pageScripts = Setting(
        "gateway.page-scripts",
        default: "sha256-xsYjMU63/GCVtKE/U40pIeljaCgte6lUJ9qxzQLAq28=",
        help: "Hashes of the scripts that pages of services may run (Content-Security-Policy), separated by commas."
    )

    static let readyTimeout = Setting(
        "gateway.ready-timeout",
        default: 10,
        in: 0...86_400,
        help: "Seconds to wait at the start for routes, signing keys and revocations before listening without them."
    )

    /// All of them.
    public static let all: [any AnySetting] =
        BlobSettings.all + [
            port, host, idleTimeout, headTimeout, headMemory, bodyTimeout, maxConnections, addressConnections, maxStreams,
            maxInFlight,
            trustedProxies, corsOrigins, userRate, addressRate, services, drainTimeout, readyTimeout, sealKeys,
            tokenService, webhookAuthorization, pageScripts, ServiceKeySettings.publicKeys,
        ]
}

extension Sealer {
    /// What a gateway seals principals with; nil without keys, which is said in its log: services that have one then refuse its requests.
    ///
    /// - Throws: `Settings.Invalid` for keys that are none.
    init?(_ settings: Settings, _ logger: Logger) throws {
        let setting = GatewaySettings.sealKeys
        guard let keys = try settings.find(setting) else {
            logger.warning("principals are sent without a seal: \(setting.argument) is not set")
            return nil
        }
        do { try self.init(keys) } catch { throw setting.invalid(error.message) }
    }
}
