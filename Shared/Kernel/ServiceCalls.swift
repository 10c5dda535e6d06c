/// Which methods each service calls: the only place where that is declared (D23).
///
/// The broker lets a service publish exactly these (`BusPermissions`), and a service takes a principal that another one passes on at these
/// only. A test compares them with the calls in the sources.
public enum ServiceCalls {
    /// Methods of version 1 by the service that is called, by the service that calls.
    public static let methods: [String: [String: [String]]] = [
        "auth": [
            "billing": [exportPersonalData, "GetEntitlements"],
            "streaks": [awaitEvents, "CountEndedStreaks", exportPersonalData, "GetPublicStreak"],
            "social": [awaitEvents, "CountEndedTies", exportPersonalData, "ListBlockSnapshots"],
            "media": [awaitEvents, exportPersonalData],
            "notifications": [awaitEvents, exportPersonalData, "SendMail"],
        ],
        "social": [
            "auth": [awaitEvents, "GetSummaries", "ListProfileSnapshots"],
            "streaks": [awaitEvents, "GetFriendSummaries", "StartForFriendship"],
            "media": [awaitEvents, "FindPostOwner", "FindSnapOwner", "ListReportedPosts", "ListReportedSnaps"],
            "notifications": [awaitEvents],
        ],
        "streaks": [
            "auth": ["GetSummaries", "ListProfileSnapshots"],
            "billing": ["ConfirmPurchase", "GetRecoveryBalance", "Purchase", "RefundToken", "SpendToken"],
            "social": ["FindFriendship", "ListBlockSnapshots", "ListCircleSnapshots", "ListFriendIDs"],
            "media": ["GetStreakSnaps", "MakeMilestoneCard"],
        ],
        "media": [
            "auth": ["GetSummaries", "ListProfileSnapshots"],
            "streaks": [
                "CheckHabitDate", "GetMembership", "GetMilestoneFacts", "ListOpenDates", "PlanContribution", "RecordContribution",
            ],
            "social": ["FindFriendship", "ListBlockSnapshots", "ListCircleSnapshots"],
        ],
        "notifications": [
            "auth": ["GetMailAddress", "GetSummaries", "ListProfileSnapshots"],
            "social": ["GetRequestStates", "ListBlockSnapshots"],
        ],
        "billing": [
            "auth": ["GetSummaries"],
            "streaks": ["CheckGoods", "GrantGoods", "TakeBackGoods"],
        ],
    ]

    /// Of these, methods that have a route too: clients call them through the gateway, services on behalf of users.
    public static let routed: [String: [String]] = ["billing": ["GetEntitlements", "GetRecoveryBalance", "Purchase"]]

    /// What the runtime of every service answers to other services, and no gateway asks.
    public static let ofEveryService = [awaitEvents, exportPersonalData]

    /// What the runtime of every service answers to `auth` alone, for administrators.
    public static let operating = ["Backlog", "ParkedEvents", "RedriveParkedEvents"]

    private static let awaitEvents = "AwaitEvents"
    private static let exportPersonalData = "ExportPersonalData"

    /// Whether a principal that a gateway has sealed for one subject may come with a request of another: passed on by a service that works for
    /// the first.
    public static func mayPassOn(from first: String, to subject: String) -> Bool {
        let services = [first, subject].map { text in
            text.split(separator: ".", maxSplits: 2).dropFirst().first.map(String.init) ?? ""
        }
        // What further services call is in the operator's file: the broker holds them to it.
        guard services.allSatisfy({ methods[$0] != nil }) else { return true }
        return callable.contains(subject)
    }

    /// The subjects of requests that services get from services.
    private static let callable = Set(
        methods.keys.flatMap { service in
            (methods.values.flatMap { $0[service] ?? [] } + ofEveryService + operating).map { subject(service, $0) }
        }
    )

    /// Methods that services call and no gateway, by service: they have no route.
    public static var unrouted: [String: [String]] {
        var found: [String: Set<String>] = [:]
        for (service, names) in methods.values.joined() { found[service, default: []].formUnion(names) }
        return found.reduce(into: [:]) { result, entry in
            let (service, names) = entry
            result[service] = names.subtracting(ofEveryService).subtracting(routed[service] ?? []).sorted()
        }
    }

    /// `rpc.auth.v1.GetSummaries`.
    ///
    /// - Parameter method: `GetSummaries`, or with another version `v2.GetSummaries`.
    public static func subject(_ service: String, _ method: String) -> String {
        "rpc.\(service).\(method.contains(".") ? method : "v1.\(method)")"
    }
}
