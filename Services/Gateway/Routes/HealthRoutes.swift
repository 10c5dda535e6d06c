internal import Bus
internal import HTTPServer
internal import Kernel
internal import Runtime

/// Whether the gateway and what it needs are well.
struct HealthRoutes: Sendable {
    let bus: BusConnection
    let catalog: ServiceCatalog
    let expected: Set<String>
    let canJudgeTokens: @Sendable () -> Bool
    /// Whether the gateway takes no more connections, because it stops.
    let isDraining: @Sendable () -> Bool
    let clock: any Clock

    /// `GET /api/health`, without the envelope of other replies (PF-1). `db` is true when every service answers and has its database;
    /// `unavailable` names the others. `zone_data` is the oldest version of the tz database that a live replica, or this gateway, goes by; left
    /// out when none says it. `refused` names services of which replicas or routes are refused; left out while there are none.
    func report(_ exchange: Exchange) async -> HTTPResponse {
        let unavailable = expected.subtracting(catalog.answering.subtracting(catalog.withoutDatabase)).sorted()
        let isWell = unavailable.isEmpty && bus.isConnected
        let names = Self.list(unavailable)
        let refused = Self.list(catalog.refused)
        let json = """
            {"status":"\(isWell ? "ok" : "degraded")","db":\(isWell),"unavailable":[\(names)],"version":"\(BuildInfo.version)",\
            \(refused.isEmpty ? "" : "\"refused\":[\(refused)],")\
            \(zoneData.map { "\"zone_data\":\"\($0)\"," } ?? "")"timestamp":"\(clock.now())"}
            """
        return exchange.response(status: 200, contentType: Exchange.json, bytes: Array(json.utf8))
    }

    /// Names of services, which have letters, digits, hyphens and underscores, as members of a JSON list.
    private static func list(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ",") }

    /// `GET /readyz`: the gateway does not stop, the bus is reachable, every service answers, tokens can be verified.
    func ready(_ exchange: Exchange) -> HTTPResponse {
        let reasons = reasons
        let text = reasons.isEmpty ? "ready\n" : reasons.joined(separator: "\n") + "\n"
        var response = exchange.response(status: reasons.isEmpty ? 200 : 503, contentType: "text/plain", bytes: Array(text.utf8))
        if !reasons.isEmpty { response.headers.add(name: "Retry-After", value: "1") }
        return response
    }

    /// Why `/readyz` does not say ready.
    var reasons: [String] {
        var reasons: [String] = []
        if isDraining() { reasons.append("the gateway stops") }
        if !bus.isConnected { reasons.append("the bus is not connected") }
        if !canJudgeTokens() { reasons.append("no signing keys yet") }
        return reasons + missing.map { "\($0) does not answer" }
    }

    /// Whether `/readyz` says ready.
    var isReady: Bool { !isDraining() && bus.isConnected && canJudgeTokens() && missing.isEmpty }

    /// What a gateway that starts sees of the others.
    var view: Readiness.View {
        Readiness.View(
            isConnected: bus.isConnected,
            canJudgeTokens: canJudgeTokens(),
            known: expected.filter { catalog.knows([$0]) },
            answering: catalog.answering
        )
    }

    private var zoneData: ZoneVersion? {
        (ZoneDataWatch.versions(in: catalog.instances.map(\.metadata)) + [TimeZoneDatabase.system.version].compactMap { $0 })
            .min()
    }

    private var missing: [String] { expected.subtracting(catalog.answering).sorted() }
}
