internal import Kernel

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

    /// RPCs of every service, of other teams too, that only `auth` may call, for administrators (`OperationMethods`): of the service and of
    /// single replicas.
    public static let operating = ServiceCalls.operating.flatMap { ofEvery($0) }

    /// What no gateway calls: RPCs of every service that other services ask for, and those of ours that have no route.
    public static let unrouted =
        ServiceCalls.ofEveryService.flatMap { ofEvery($0) }
        + ServiceCalls.unrouted.sorted { $0.key < $1.key }.flatMap { service, methods in
            methods.flatMap { requests(service, $0) }
        }

    /// Whose events each feature of a service consumes. The operator's process makes a durable consumer for each (`streaksnap streams`).
    public static let sources: [String: [String: [String]]] = [
        "auth": [
            "core": ["billing", "streaks"], "accounts": ["billing", "social", "streaks"], "profiles": ["media", "social"],
        ],
        "social": ["core": ["auth"], "circles": ["auth"], "safety": ["media"], "personal-data": ["auth"]],
        "streaks": [
            "core": ["auth", "billing", "social"], "mutual": ["social"], "typed": ["media", "streaks"], "check-ins": ["streaks"],
            "teams": ["streaks"], "rewards": ["billing"], "analytics": ["billing", "media", "notifications", "streaks"],
            "habit-reminders": ["notifications"], "habits": ["media"], "personal-data": ["auth"],
        ],
        "media": [
            "core": ["auth", "social"], "cards": ["social"], "places": ["social"], "snaps": ["social"],
            "habit-photos": ["streaks"],
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
        service(named: name, calls: ServiceCalls.methods[name] ?? [:], sources: sources[name] ?? [:])
    }

    /// The rights of a service, also of one that is not of this repository (`FurtherServices`).
    ///
    /// - Parameters:
    ///   - name: its name on the bus.
    ///   - calls: the methods it calls, by service: `GetSummaries`, or with another version `v2.GetSummaries`. Nothing else of a service
    ///     gets its requests (D23).
    ///   - sources: whose events each of its features consumes.
    public static func service(
        named name: String,
        calls: [String: [String]],
        sources: [String: [String]]
    ) -> BusPermissions {
        // What users with an open stream of server-sent events receive.
        let live = name == "notifications" ? ["live.notifications.>"] : []
        // Which sessions ended, and whether the stream of that is still the one it has filled.
        let revocations = name == "auth" ? ["revoked.>", "$JS.API.STREAM.INFO.REVOKED"] : []
        // What runs, what waits: its own replicas too.
        let operations = name == "auth" ? operating + ["inst.*.ping", "inst.*.*.ping", "$SRV.STATS"] : []
        let calls = calls.sorted { $0.key < $1.key }.flatMap { asking($0, $1) }
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

    /// Calling some methods of a service, of any instance, and nothing else of it.
    static func asking(_ service: String, _ methods: [String]) -> [String] {
        methods.flatMap { requests(service, $0) } + ["inst.\(service).*.ping", "inst.\(service).ping"]
    }

    /// Requests of a method, at the queue group and at any instance.
    private static func requests(_ service: String, _ method: String) -> [String] {
        let subject = ServiceCalls.subject(service, method)
        return [subject, "inst.\(service).*.\(subject)"]
    }

    /// Requests of a method that every service has.
    private static func ofEvery(_ method: String) -> [String] { ["rpc.*.v1.\(method)", "inst.*.*.rpc.*.v1.\(method)"] }

    /// Clients reach only the gateway, so it may call what has a route, of every service. Routes come with the descriptors of services,
    /// without a change here: so what has none is denied instead.
    private static let gateway = BusPermissions(
        user: "gateway",
        publish: [
            "_INBOX.>", "rpc.>", "inst.>", "$SRV.>", "dev.clock.>", readingClock, "$JS.API.STREAM.INFO.REVOKED",
            "$JS.API.STREAM.MSG.GET.REVOKED",
        ],
        notPublish: operating + unrouted,
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
