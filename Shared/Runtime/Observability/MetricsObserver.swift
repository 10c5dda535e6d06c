public import Bus
internal import Kernel
private import Synchronization

/// Counts every RPC by method and outcome, its duration by method, and what is in flight (D11).
public final class MetricsObserver: RPCObserver {
    private let metrics: Metrics
    private let role: String
    private let methods = Mutex<[String: Series]>([:])

    private struct Series: Sendable {
        let ok: Counter
        let duration: Histogram
        let inFlight: Gauge
    }

    /// - Parameter role: `server` for what this process answers, `client` for what it asks.
    public init(_ metrics: Metrics, role: String) {
        self.metrics = metrics
        self.role = role
    }

    public func started(method: String) { series(method).inFlight.add(1) }

    public func ended(_ rpc: ObservedRPC) {
        let series = series(rpc.method)
        if let code = rpc.code { counter(rpc.method, "\(code)").increment() } else { series.ok.increment() }
        switch rpc.fate {
        case .ran:
            series.inFlight.add(-1)
            series.duration.record(rpc.duration)
        case .overloaded, .late, .unsealed:
            metrics.counter(
                "streaksnap_rpc_refused_total",
                [("method", rpc.method), ("reason", "\(rpc.fate)")],
                help: "Requests that were not run: overloaded (as much ran as may), late (the deadline had passed) "
                    + "or unsealed (a forged principal)."
            ).increment()
        }
    }

    public func repeated(method: String) {
        metrics.counter(
            "streaksnap_rpc_repeats_total",
            [("method", method)],
            help: "Requests that were sent once more, because they were slow, refused or lost."
        ).increment()
    }

    private func series(_ method: String) -> Series {
        methods.withLock { methods in
            if let known = methods[method] { return known }
            let labels = [("method", method), ("role", role)]
            let made = Series(
                ok: counter(method, "ok"),
                duration: metrics.histogram("streaksnap_rpc_duration_seconds", labels, help: "Time from request to reply."),
                inFlight: metrics.gauge("streaksnap_rpc_in_flight", labels, help: "Requests without their reply yet.")
            )
            methods[method] = made
            return made
        }
    }

    private func counter(_ method: String, _ code: String) -> Counter {
        metrics.counter(
            "streaksnap_rpc_total",
            [("method", method), ("role", role), ("code", code)],
            help: "Requests by outcome."
        )
    }
}

/// Passes requests on to several observers.
struct Observers: RPCObserver {
    let all: [any RPCObserver]

    func started(method: String) { for observer in all { observer.started(method: method) } }

    func repeated(method: String) {
        for observer in all { observer.repeated(method: method) }
    }

    func ended(_ rpc: ObservedRPC) { for observer in all { observer.ended(rpc) } }
}
