/// What one NATS user may do: the least subjects that work (D9). The table is the only place where these rights are declared.
public struct BusPermissions: Sendable, Equatable {
    /// The user's name, also that of the executable.
    public var user: String
    /// Subjects the user may publish to; nil for all.
    public var publish: [String]?
    /// Subjects the user may subscribe to; nil for all.
    public var subscribe: [String]?

    /// The environment variable that holds the user's password.
    public var passwordVariable: String { "NATS_PASSWORD_\(user.uppercased())" }

    /// The six services in the order they are listed everywhere.
    public static let services = ["auth", "social", "streaks", "media", "notifications", "billing"]

    /// Whom each service calls.
    public static let callees: [String: [String]] = [
        "auth": ["billing", "streaks", "social", "media", "notifications"],
        "social": ["auth", "streaks", "media"],
        "streaks": ["auth", "billing", "social", "media"],
        "media": ["auth", "streaks", "social"],
        "notifications": ["auth", "social"],
        "billing": ["auth", "streaks"],
    ]

    /// Whose events each service consumes. The operator's process makes a durable consumer for each (`streaksnap streams`).
    public static let sources: [String: [String]] = [
        "auth": ["billing", "media", "social", "streaks"],
        "social": ["auth"],
        "streaks": ["auth", "billing", "social"],
        "media": ["auth", "social"],
        "notifications": ["auth", "social", "streaks"],
        "billing": ["auth", "streaks"],
    ]

    /// The rights of every user: the services, the gateway, and the operator (who makes the streams; development command, tests) with all.
    public static let table: [BusPermissions] =
        services.map { service(named: $0) } + [gateway, BusPermissions(user: "operator", publish: nil, subscribe: nil)]

    private static func service(named name: String) -> BusPermissions {
        // Whoever is connected to the gateway for server-sent events is told of by notifications.
        let live = name == "notifications" ? ["live.>"] : []
        let calls = (callees[name] ?? []).map { "rpc.\($0).>" }
        let events = (sources[name] ?? []).flatMap { consuming($0, as: name) }
        return BusPermissions(
            user: name,
            publish: ["_INBOX.>", "evt.\(name).>", "relay.\(name).>"] + calls + live + events + [readingClock],
            subscribe: ["rpc.\(name).>", "relay.\(name).>", "dev.clock.>", "$SRV.>", "_INBOX.\(name).>"]
        )
    }

    /// Clients reach nothing else than the gateway, so it is who may call everyone.
    private static let gateway = BusPermissions(
        user: "gateway",
        publish: ["_INBOX.>", "rpc.>", "$SRV.>", "dev.clock.>", readingClock],
        subscribe: ["live.>", "evt.auth.v1.SessionsRevoked", "dev.clock.>", "$SRV.>", "_INBOX.gateway.>"]
    )

    /// Reading a stream through the durable consumer of one's own name, and by the places of its messages.
    ///
    /// Nothing that makes, changes or removes a stream or consumer: who may update a stream can have any subject captured in it, passwords
    /// included, and who may make a consumer can have it deliver to any subject, whatever this table says. The rights of JetStream are by
    /// subject, and `deliver_subject` is in the body.
    private static func consuming(_ source: String, as name: String) -> [String] {
        let stream = "EVT_\(source.uppercased())"
        return [
            "$JS.API.CONSUMER.MSG.NEXT.\(stream).\(name)", "$JS.API.CONSUMER.INFO.\(stream).\(name)",
            "$JS.API.STREAM.MSG.GET.\(stream)",
        ]
    }

    private static let readingClock = "$JS.API.STREAM.MSG.GET.DEV_CLOCK"
}
