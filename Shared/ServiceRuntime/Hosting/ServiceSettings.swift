public import Runtime

/// Settings of a service with a database, beyond those of every process.
public enum ServiceSettings {
    /// Where the service's database is.
    public static let databaseURL = Setting<String>(
        "database.url",
        default: nil,
        isSecret: true,
        help: "The service's PostgreSQL, as a libpq connection string or URI."
    )
    /// How many connections to it, beside the one that shows that the replica lives: 8 altogether by default.
    public static let databasePool = Setting(
        "database.pool",
        default: 7,
        in: 1...200,
        help: "Connections to PostgreSQL, beside one that shows that the replica lives."
    )
    /// Whether a connection of its own shows the other replicas that this one lives.
    public static let databasePresence = Setting(
        "database.presence",
        default: true,
        help:
            "Whether a connection beside the pool shows that the replica lives, so that others take over at once when it does not. Without it they wait for 6 s."
    )
    /// Longest a statement may run.
    public static let statementTimeout = Setting(
        "database.statement-timeout",
        default: 5_000,
        in: 1...Int(Int32.max),
        help: "Longest a statement may run, in ms."
    )
    /// How many requests at once.
    public static let maxInFlight = Setting(
        "rpc.max-in-flight",
        default: 512,
        in: 1...1_000_000,
        help: "Requests handled at once; more are answered UNAVAILABLE at once."
    )
    /// Whether principals are believed.
    public static let sealKey = Setting<String>(
        "seal.key",
        default: nil,
        isSecret: true,
        help:
            "Key with which gateways seal principals for this service, at least 32 characters; two with a space while it changes. "
            + "Without it any principal is believed."
    )
    /// Limits of what users may store, where they differ from the declared ones (`Quota`).
    public static let quotas = Setting(
        "quotas",
        default: "",
        help:
            "Other limits of what one user may store, table=rows or table.column=megabytes, separated by commas, for quotas that this "
            + "service has; empty means the declared ones."
    )
    /// Which features a replica runs.
    public static let features = Setting(
        "features",
        default: "",
        help: "Features of the service that this replica runs, separated by commas; empty means all."
    )

    /// All of them, and those of every process.
    public static let all: [any AnySetting] =
        CommonSettings.process + [
            databaseURL, databasePool, databasePresence, statementTimeout, maxInFlight, sealKey, quotas, features,
            ServiceKeySettings.key,
        ]
}

extension Settings {
    /// What the metadata of a replica says so that gateways take up its routes (D23); nothing without `service.key`.
    ///
    /// - Throws: `Settings.Invalid` for a key that is none.
    func signature<Module: ServiceModule>(of _: Module.Type) throws -> [String: String] {
        guard let key = try find(ServiceKeySettings.key) else { return [:] }
        let (name, version, hash) = (Module.name, Module.version, Module.descriptor.hash)
        return [ServiceStatement.descriptorField: try key.sign(.descriptor(service: name, version: version, sha256: hash))]
    }
}
