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
    /// Which features a replica runs.
    public static let features = Setting(
        "features",
        default: "",
        help: "Features of the service that this replica runs, separated by commas; empty means all."
    )

    /// All of them, and those of every process.
    public static let all: [any AnySetting] =
        CommonSettings.process + [databaseURL, databasePool, databasePresence, statementTimeout, maxInFlight, features]
}
