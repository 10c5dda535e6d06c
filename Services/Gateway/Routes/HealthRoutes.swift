internal import Bus
internal import Hummingbird
internal import Kernel
internal import Runtime

/// Whether the gateway and what it needs are well.
struct HealthRoutes: Sendable {
    let bus: BusConnection
    let catalog: ServiceCatalog
    let expected: Set<String>
    let canJudgeTokens: @Sendable () -> Bool
    let clock: any Clock

    /// `GET /api/health` as the seed shows it. `db` is true when every service answers: each refuses to start without its database.
    func seedHealth(_ exchange: Exchange) async -> Response {
        let missing = missing
        let isWell = missing.isEmpty && bus.isConnected
        let json =
            "{\"status\":\"\(isWell ? "ok" : "degraded")\",\"db\":\(isWell),\"version\":\"\(BuildInfo.version)\",\"timestamp\":\"\(clock.now())\"}"
        return exchange.response(status: 200, contentType: Exchange.json, bytes: Array(json.utf8))
    }

    /// `GET /readyz`: the bus is reachable, every service answers, tokens can be verified.
    func ready(_ exchange: Exchange) -> Response {
        var reasons: [String] = []
        if !bus.isConnected { reasons.append("the bus is not connected") }
        if !canJudgeTokens() { reasons.append("no signing keys yet") }
        reasons += missing.map { "\($0) does not answer" }
        let text = reasons.isEmpty ? "ready\n" : reasons.joined(separator: "\n") + "\n"
        return exchange.response(status: reasons.isEmpty ? 200 : 503, contentType: "text/plain", bytes: Array(text.utf8))
    }

    /// Whether `/readyz` says ready.
    var isReady: Bool { bus.isConnected && canJudgeTokens() && missing.isEmpty }

    private var missing: [String] { expected.subtracting(catalog.answering).sorted() }
}
