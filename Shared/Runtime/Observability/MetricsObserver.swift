public import Bus
public import Kernel
private import Synchronization

/// Counts every RPC by method and outcome, and its duration by method (D11).
public final class MetricsObserver: RPCObserver {
    private let metrics: Metrics
    private let role: String
    private let methods = Mutex<[String: Series]>([:])

    private struct Series: Sendable {
        let ok: Counter
        let duration: Histogram
    }

    /// - Parameter role: `server` for what this process answers, `client` for what it asks.
    public init(_ metrics: Metrics, role: String) {
        self.metrics = metrics
        self.role = role
    }

    public func completed(method: String, code: ServiceError.Code?, duration: Duration) {
        let series = methods.withLock { methods -> Series in
            if let known = methods[method] { return known }
            let labels = [("method", method), ("role", role)]
            let made = Series(
                ok: counter(method, "ok"),
                duration: metrics.histogram("streaksnap_rpc_duration_seconds", labels, help: "Time from request to reply.")
            )
            methods[method] = made
            return made
        }
        series.duration.record(duration)
        if let code { counter(method, "\(code)").increment() } else { series.ok.increment() }
    }

    private func counter(_ method: String, _ code: String) -> Counter {
        metrics.counter(
            "streaksnap_rpc_total",
            [("method", method), ("role", role), ("code", code)],
            help: "Requests by outcome."
        )
    }
}
