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

    /// The rights of every user: the services, the gateway, and the operator (development command, tests) with all.
    public static let table: [BusPermissions] =
        services.map { service(named: $0, callees: callees[$0] ?? []) } + [
            gateway, BusPermissions(user: "operator", publish: nil, subscribe: nil),
        ]

    private static func service(named name: String, callees: [String]) -> BusPermissions {
        let stream = "EVT_\(name.uppercased())"
        // Whoever is connected to the gateway for server-sent events is told of by notifications.
        let live = name == "notifications" ? ["live.>"] : []
        return BusPermissions(
            user: name,
            publish: ["_INBOX.>", "evt.\(name).>", "relay.\(name).>"] + callees.map { "rpc.\($0).>" } + live + [
                "$JS.API.STREAM.CREATE.\(stream)", "$JS.API.STREAM.UPDATE.\(stream)",
            ] + consuming(as: name),
            subscribe: ["rpc.\(name).>", "relay.\(name).>", "dev.clock.>", "$SRV.>", "_INBOX.\(name).>"]
        )
    }

    /// Clients reach nothing else than the gateway, so it is who may call everyone.
    private static let gateway = BusPermissions(
        user: "gateway",
        publish: [
            "_INBOX.>", "rpc.>", "$SRV.>", "dev.clock.>", "$JS.API.STREAM.CREATE.DEV_CLOCK", "$JS.API.STREAM.UPDATE.DEV_CLOCK",
        ] + consuming(as: "gateway"),
        subscribe: ["live.>", "evt.auth.v1.SessionsRevoked", "dev.clock.>", "$SRV.>", "_INBOX.gateway.>"]
    )

    /// Reading streams through durable consumers of one's own name.
    private static func consuming(as name: String) -> [String] {
        [
            "$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.DEV_CLOCK",
            // 2.9 knows the older form, newer clients use the other two (with and without a filter).
            "$JS.API.CONSUMER.DURABLE.CREATE.*.\(name)", "$JS.API.CONSUMER.CREATE.*.\(name)",
            "$JS.API.CONSUMER.CREATE.*.\(name).>",
            // A reader is made anew from where its service has come.
            "$JS.API.CONSUMER.DELETE.*.\(name)",
            "$JS.API.CONSUMER.INFO.*.\(name)", "$JS.API.CONSUMER.MSG.NEXT.*.\(name)", "$JS.ACK.*.\(name).>",
        ]
    }
}
