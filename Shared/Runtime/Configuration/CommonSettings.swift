/// Settings that every executable has.
public enum CommonSettings {
    /// Where NATS is.
    public static let natsURL = Setting(
        "nats.url",
        default: "nats://127.0.0.1:4222",
        help: "The bus; several servers separated by commas."
    )
    /// The user this executable is on the bus.
    public static let natsUser = Setting<String>(
        "nats.user",
        default: nil,
        help: "User name on the bus; the executable's name when absent."
    )
    /// Its password.
    public static let natsPassword = Setting<String>("nats.password", default: nil, isSecret: true, help: "Password on the bus.")
    /// Port of health and metrics.
    public static let adminPort = Setting(
        "admin.port",
        default: 0,
        in: 0...65_535,
        help: "Port of /metrics, /healthz and /readyz on the admin address; 0 means none."
    )
    /// Address of health and metrics.
    public static let adminHost = Setting("admin.host", default: "127.0.0.1", help: "Address the admin port listens on.")
    /// How much is logged.
    public static let logLevel = Setting(
        "log.level",
        default: "info",
        help: "trace, debug, info, notice, warning, error or critical."
    )
    /// Where spans go.
    public static let otlpEndpoint = Setting(
        "otlp.endpoint",
        default: "",
        help: "Collector that spans are sent to as OTLP/HTTP, http://127.0.0.1:4318; empty sends none."
    )
    /// How many traces are recorded.
    public static let sampleRatio = Setting(
        "trace.sample-ratio",
        default: 1.0,
        help: "Share of the traces that begin here that is recorded, 0 to 1; a traceparent from outside decides for itself."
    )
    /// PF-7.
    public static let developmentClock = Setting(
        "dev.clock",
        default: false,
        help: "Lets POST /api/dev/clock move the time of the whole environment. Never in production."
    )
    /// Where the rules of time zones are.
    public static let zoneFolder = Setting(
        "zoneinfo.folder",
        default: "/usr/share/zoneinfo",
        help: "Folder of the compiled tz database, with its version in tzdata.zi; a newer one is taken up without a restart."
    )
    /// JetStream copies.
    public static let streamReplicas = Setting(
        "nats.stream-replicas",
        default: 1,
        in: 1...5,
        help: "Copies of every event stream in a NATS cluster."
    )

    /// Those of every process.
    public static let process: [any AnySetting] = [
        natsURL, natsUser, natsPassword, adminPort, adminHost, logLevel, otlpEndpoint, sampleRatio, developmentClock, zoneFolder,
    ]
}
