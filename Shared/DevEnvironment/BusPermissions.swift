/// What one NATS user may do: the least subjects that work (D9). The table is the only place where these rights are declared.
public struct BusPermissions: Sendable, Equatable {
    /// The user's name, also that of the executable.
    public var user: String
    /// Subjects the user may publish to; nil for all.
    public var publish: [String]?
    /// Of these, subjects that the user may not publish to all the same.
    public var notPublish: [String] = []
    /// Subjects the user may subscribe to; nil for all.
    public var subscribe: [String]?

    /// The environment variable that holds the user's password.
    public var passwordVariable: String { "NATS_PASSWORD_\(user.uppercased())" }

    /// The six services in the order they are listed everywhere.
    public static let services = ["auth", "social", "streaks", "media", "notifications", "billing"]

    /// The services that each service calls.
    public static let callees: [String: [String]] = [
        "auth": ["billing", "streaks", "social", "media", "notifications"],
        "social": ["auth", "streaks", "media"],
        "streaks": ["auth", "billing", "social", "media"],
        "media": ["auth", "streaks", "social"],
        "notifications": ["auth", "social"],
        "billing": ["auth", "streaks"],
    ]

    /// Services that are asked only whether they have applied an event (`ProtectiveEvents`), beyond those that are called.
    public static let awaited: [String: [String]] = ["social": ["notifications"]]

    /// RPCs of every service, of other teams too, that only `auth` may call, for administrators (`OperationMethods`): of the service and of
    /// single replicas.
    public static let operating = ["Backlog", "ParkedEvents", "RedriveParkedEvents"].flatMap { method in
        ["rpc.*.v1.\(method)", "inst.*.*.rpc.*.v1.\(method)"]
    }

    /// Whose events each feature of a service consumes. The operator's process makes a durable consumer for each (`streaksnap streams`).
    public static let sources: [String: [String: [String]]] = [
        "auth": [
            "core": ["billing", "streaks"], "accounts": ["billing", "social", "streaks"], "profiles": ["media", "social"],
        ],
        "social": ["core": ["auth"], "circles": ["auth"], "safety": ["media"], "personal-data": ["auth"]],
        "streaks": [
            "core": ["auth", "billing", "social"], "mutual": ["social"], "typed": ["media", "streaks"], "check-ins": ["streaks"],
            "teams": ["streaks"], "rewards": ["billing"], "analytics": ["billing", "notifications", "streaks"],
            "habit-reminders": ["notifications"], "habits": ["media"], "personal-data": ["auth"],
        ],
        "media": [
            "core": ["auth", "social"], "cards": ["social"], "places": ["social"], "habit-photos": ["streaks"],
            "personal-data": ["auth"],
        ],
        "notifications": [
            "core": ["auth", "billing", "social"], "log": ["auth", "billing", "social", "streaks"], "push": ["auth"],
            "mail": ["billing"], "live": ["streaks"], "personal-data": ["auth"],
        ],
        "billing": ["money": ["streaks"], "personal-data": ["auth"]],
    ]

    /// The rights of every user: the services, the gateway, and the operator (who makes the streams; development command, tests) with all.
    public static let table: [BusPermissions] =
        services.map { service(named: $0) } + [gateway, BusPermissions(user: "operator", publish: nil, subscribe: nil)]

    private static func service(named name: String) -> BusPermissions {
        service(named: name, callees: callees[name] ?? [], awaited: awaited[name] ?? [], sources: sources[name] ?? [:])
    }

    /// The rights of a service, also of one that is not of this repository (`FurtherServices`).
    ///
    /// - Parameters:
    ///   - name: its name on the bus.
    ///   - callees: the services it calls.
    ///   - awaited: services that it asks only whether they have applied an event.
    ///   - sources: whose events each of its features consumes.
    public static func service(
        named name: String,
        callees: [String],
        awaited: [String] = [],
        sources: [String: [String]]
    ) -> BusPermissions {
        // What users with an open stream of server-sent events receive.
        let live = name == "notifications" ? ["live.notifications.>"] : []
        // Which sessions ended, and whether the stream of that is still the one it has filled.
        let revocations = name == "auth" ? ["revoked.>", "$JS.API.STREAM.INFO.REVOKED"] : []
        // What runs, what waits: its own replicas too.
        let operations = name == "auth" ? operating + ["inst.*.ping", "inst.*.*.ping", "$SRV.STATS"] : []
        let calls =
            callees.flatMap { ["rpc.\($0).>", "inst.\($0).>"] }
            + awaited.flatMap { asking($0, "AwaitEvents") }
        let features = sources.sorted { $0.key < $1.key }
        let events = features.flatMap { feature, sources in sources.flatMap { consuming($0, as: "\(name)-\(feature)") } }
        return BusPermissions(
            user: name,
            publish: ["_INBOX.>", "evt.\(name).>", "relay.\(name).>"] + calls + live + revocations + operations + unique(events)
                + [
                    ownStream(of: name), readingClock,
                ],
            notPublish: name == "auth" ? [] : operating,
            subscribe: ["rpc.\(name).>", "inst.\(name).>", "relay.\(name).>", "dev.clock.>", "$SRV.>", "_INBOX.\(name).>"]
        )
    }

    /// Calling one method of a service, of any instance, and nothing else of it.
    static func asking(_ service: String, _ name: String) -> [String] {
        let method = "rpc.\(service).v1.\(name)"
        return [method, "inst.\(service).*.\(method)", "inst.\(service).*.ping", "inst.\(service).ping"]
    }

    /// Clients reach only the gateway, so it may call every service.
    private static let gateway = BusPermissions(
        user: "gateway",
        publish: [
            "_INBOX.>", "rpc.>", "inst.>", "$SRV.>", "dev.clock.>", readingClock, "$JS.API.STREAM.INFO.REVOKED",
            "$JS.API.STREAM.MSG.GET.REVOKED",
        ],
        notPublish: operating,
        subscribe: ["live.>", "revoked.>", "dev.clock.>", "$SRV.>", "_INBOX.gateway.>"]
    )

    /// Reading a stream through a durable consumer of one's own (`EventConsumer.durableName`), and by the places of its messages.
    ///
    /// Nothing that makes, changes or removes a stream or consumer: who may update a stream can have any subject captured in it, passwords
    /// included, and who may make a consumer can have it deliver to any subject, whatever this table says. The rights of JetStream are by
    /// subject, and `deliver_subject` is in the body.
    private static func consuming(_ source: String, as durable: String) -> [String] {
        let stream = "EVT_\(source.uppercased())"
        return [
            "$JS.API.CONSUMER.MSG.NEXT.\(stream).\(durable)", "$JS.API.CONSUMER.INFO.\(stream).\(durable)",
            "$JS.API.STREAM.MSG.GET.\(stream)",
        ]
    }

    /// Asking how long the service's own stream is, and since when there is one: whether the broker still has what was published.
    private static func ownStream(of name: String) -> String { "$JS.API.STREAM.INFO.EVT_\(name.uppercased())" }

    /// Two features may read one stream.
    private static func unique(_ subjects: [String]) -> [String] {
        var known: Set<String> = []
        return subjects.filter { known.insert($0).inserted }
    }

    private static let readingClock = "$JS.API.STREAM.MSG.GET.DEV_CLOCK"
}
