import DevEnvironment
import FoundationEssentials
import Kernel
import Runtime

/// Which executable is told what.
struct Plan: Sendable {
    let endpoints: Endpoints
    let options: Up
    let dataFolder: String

    var logFolder: String { dataFolder + "/logs" }
    static let services = BusPermissions.services
    /// Settings that are the operator's here too: taken from the environment of this process.
    private static let passedOn = [
        "auth": ["auth.apple-client-ids", "auth.apple-keys-url"],
        "streaks": ["streaks.snap-window"],
        "media": blobs,
        "gateway": [
            "http.trusted-proxies", "http.cors-origins", "http.user-rate", "http.address-rate", "http.idle-timeout",
            "http.body-timeout",
        ]
            + blobs,
    ]
    /// The photos of a trial may go to a real bucket.
    private static let blobs = [
        "blob.store", "blob.spool-folder", "blob.s3.endpoint", "blob.s3.region", "blob.s3.bucket", "blob.s3.prefix",
        "blob.s3.path-style", "blob.s3.connections", "blob.s3.key-id", "blob.s3.key-id.file", "blob.s3.secret",
        "blob.s3.secret.file",
    ]

    /// The settings of one executable, by key.
    func values(of name: String) -> [String: String] {
        var values = [
            "nats.url": endpoints.natsURL, "nats.user": name, "nats.password.file": endpoints.natsPasswordFile(of: name),
            "log.level": options.logLevel, "dev.clock": String(options.devClock), "otlp.endpoint": options.otlpEndpoint,
            "admin.port": String(adminPort(of: name)), "media.public-url": "http://127.0.0.1:\(options.port)",
        ]
        if let url = endpoints.postgresURL(of: name) { values["database.url"] = url }
        switch name {
        case "auth":
            values["auth.key-folder"] = endpoints.tokenKeyFolder
            values["auth.refresh-secret.file"] = endpoints.refreshSecretFile
            values["auth.bcrypt-cost"] = String(options.bcryptCost)
        case "media", "gateway":
            values["blob.folder"] = dataFolder + "/blobs"
            values["media.signing-key.file"] = endpoints.mediaSigningKeyFile
            if name == "gateway" { values["http.port"] = String(options.port) }
        default: break
        }
        let environment = Console.environment()
        for key in Self.passedOn[name] ?? [] { values[key] = environment[Self.variable(key)] }
        return values
    }

    /// One process has one admin port; apart, the gateway has it and the services those after it.
    private func adminPort(of name: String) -> Int {
        guard options.separate, options.adminPort != 0 else { return 0 }
        return options.adminPort + (Self.services.firstIndex(of: name).map { $0 + 1 } ?? 0)
    }

    /// The same as environment variables.
    func environment(of name: String) -> [String: String] {
        Dictionary(
            values(of: name).map { key, value in (Self.variable(key), value) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    private static func variable(_ key: String) -> String {
        "STREAKSNAP_" + key.uppercased().replacing(".", with: "_").replacing("-", with: "_")
    }

    func write(_ text: String, to file: String) throws {
        try Data(text.utf8).write(to: URL(filePath: file), options: .atomic)
    }
}
