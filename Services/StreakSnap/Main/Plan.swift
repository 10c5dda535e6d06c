import DevEnvironment
import FoundationEssentials
import GatewayService
import Kernel
import Runtime

/// The settings of each executable.
///
/// `up` sets those that connect the executables (`own`). All others are the operator's: an option of `up`, else a variable of the
/// environment (`STREAKSNAP_…`, also `STREAKSNAP_CONFIG`), else the default of `up`, else that of the executable.
struct Plan: Sendable {
    let endpoints: Endpoints
    let options: Up
    let dataFolder: String
    let ports: Ports
    /// Those of `up` itself.
    let settings: Settings
    /// Services of other repositories.
    let further: FurtherServices
    let quotas: QuotaParts

    var logFolder: String { dataFolder + "/logs" }
    var address: PublicAddress { ports.address }
    static let services = BusPermissions.services
    /// Addresses, ports and shared secrets. Variables of these names are not taken from the environment.
    private static let own = [
        "nats.url", "nats.user", "nats.password", "database.url", "admin.port", "http.port", "http.host", "auth.key-folder",
        "auth.refresh-secret", "blob.folder", "media.signing-key", "notifications.mail-folder", "seal.key", "gateway.seal-keys",
        "service.key", "service.public-keys",
    ].map(variable)

    /// The environment of one executable.
    func environment(of name: String) -> [String: String] {
        Self.inherited(options, address).merging(
            Dictionary(uniqueKeysWithValues: values(of: name).map { (Self.variable($0), $1) }),
            uniquingKeysWith: { _, own in own }
        )
    }

    /// What holds the system together, by key.
    private func values(of name: String) -> [String: String] {
        var values = [
            "nats.url": endpoints.natsURL, "nats.user": name, "nats.password.file": endpoints.natsPasswordFile(of: name),
            "admin.port": String(ports.admin(of: name)),
        ]
        if let url = endpoints.postgresURL(of: name) { values["database.url"] = url }
        if name == "gateway" {
            values["gateway.seal-keys.file"] = endpoints.sealKeysFile
            values["service.public-keys.file"] = endpoints.servicePublicKeysFile
        } else {
            if endpoints.sealKey(of: name) != nil { values["seal.key.file"] = endpoints.sealKeyFile(of: name) }
            values["service.key.file"] = endpoints.serviceKeyFile(of: name)
            values["quotas"] = quotas.text(of: name)
        }
        switch name {
        case "auth":
            values["auth.key-folder"] = endpoints.tokenKeyFolder
            values["auth.refresh-secret.file"] = endpoints.refreshSecretFile
            if !further.exported.isEmpty { values["auth.export-services"] = further.exported.joined(separator: ",") }
            values.merge(blobs) { _, new in new }
        // Where mails go as long as there is no server for them.
        case "notifications": values["notifications.mail-folder"] = dataFolder + "/mail"
        case "streaks": values["blob.folder"] = blobs["blob.folder"]
        case "media", "gateway":
            values.merge(blobs) { _, new in new }
            if name == "gateway" {
                values["http.port"] = String(address.port)
                values["http.host"] = address.host
            }
        default: break
        }
        return values
    }

    /// Settings of the executables that store or serve files.
    private var blobs: [String: String] {
        ["blob.folder": dataFolder + "/blobs", "media.signing-key.file": endpoints.mediaSigningKeyFile]
    }

    /// Settings of every executable: those given to `up`, in the environment and then by its options.
    private static func inherited(_ options: Up, _ address: PublicAddress) -> [String: String] {
        var result = Console.environment().filter { name, _ in
            name.hasPrefix("STREAKSNAP_") && !own.contains(name) && !own.contains { name == $0 + "_FILE" }
        }
        // One who stops `up` waits for it, and nothing else will answer.
        var defaults = ["media.public-url": address.url, "http.drain-timeout": "1"]
        let proxies = try? Settings(arguments: [], environment: result, declared: [GatewaySettings.trustedProxies])
            .get(GatewaySettings.trustedProxies)
        let isBehindProxy = !(proxies ?? "").isEmpty
        // For development: a new administrator need not fetch a phone first.
        if !isBehindProxy { defaults["auth.admin-second-factor"] = "enrolled" }
        // Tests and demonstrations make many users, and no one else reaches this machine's own address, but through a proxy.
        if address.isLoopback, !isBehindProxy {
            defaults.merge(["auth.address-registrations": "0", "auth.registrations": "0"]) { $1 }
        }
        result.merge(defaults.map { (variable($0), $1) }) { given, _ in given }
        let given = [
            "log.level": options.logLevel, "dev.clock": options.devClock ? "true" : nil, "otlp.endpoint": options.otlpEndpoint,
            "auth.bcrypt-cost": options.bcryptCost.map(String.init),
        ]
        for case (let key, let value?) in given { result[variable(key)] = value }
        return result
    }

    /// The settings of `up` itself.
    ///
    /// - Throws: `Settings.Invalid`.
    static func settings(of options: Up) throws -> Settings {
        var environment = inherited(options, PublicAddress(host: options.host, port: options.port))
        environment[variable("admin.port")] = options.adminPort.map(String.init) ?? Console.environment()[variable("admin.port")]
        return try Settings(arguments: [], environment: environment, declared: CommonSettings.process + [LinkSettings.publicURL])
    }

    private static func variable(_ key: String) -> String {
        "STREAKSNAP_" + key.uppercased().replacing(".", with: "_").replacing("-", with: "_")
    }

    func write(_ text: String, to file: String) throws {
        try Data(text.utf8).write(to: URL(filePath: file), options: .atomic)
    }

    /// Which ports the executables listen on.
    struct Ports: Sendable {
        let address: PublicAddress
        private let firstAdmin: Int
        private let isSeparate: Bool

        /// - Parameter firstAdmin: 0 for no admin port.
        init(_ options: Up, firstAdmin: Int) {
            address = PublicAddress(host: options.host, port: options.port)
            self.firstAdmin = firstAdmin
            isSeparate = options.separate
        }

        /// One process has one admin port; apart, the gateway has it and the services those after it.
        func admin(of name: String) -> Int {
            guard isSeparate, firstAdmin != 0 else { return 0 }
            return firstAdmin + (Plan.services.firstIndex(of: name).map { $0 + 1 } ?? 0)
        }

        /// Makes sure that each can be listened on.
        ///
        /// - Throws: `DevEnvironmentError` naming the port and the option.
        func check() throws(DevEnvironmentError) {
            try ListeningPort.check(address.port, of: address.host, for: "the public API", option: "--port")
            guard firstAdmin != 0 else { return }
            for port in firstAdmin...(firstAdmin + (isSeparate ? Plan.services.count : 0)) {
                guard port != address.port else {
                    throw DevEnvironmentError(
                        "Port \(port) is meant for the public API, and for metrics and health too.",
                        wayOut: "Choose another with --port or --admin-port."
                    )
                }
                try ListeningPort.check(port, of: PublicAddress.loopback, for: "metrics and health", option: "--admin-port")
            }
        }
    }
}
