internal import Kernel
package import NotificationsDomain
package import Runtime

/// What becomes of pushes, for `/metrics`.
package struct PushMetrics: Sendable {
    private let metrics: Metrics

    package init(_ metrics: Metrics) { self.metrics = metrics }

    /// A notification that is in the log only, or a push that was given up, and why.
    package func dropped(_ kind: NotificationKind, _ reason: DropReason) {
        metrics.counter(
            "streaksnap_pushes_dropped_total",
            [("kind", kind.name), ("reason", reason.rawValue)],
            help: "Notifications that were not pushed, by kind and reason."
        ).increment()
    }

    /// Pushes that reached a state: `sent`, `received`, `failed`.
    ///
    /// - Parameter reason: the provider's error; empty for none.
    package func reached(_ state: String, reason: String = "", count: Int = 1) {
        guard count > 0 else { return }
        metrics.counter(
            "streaksnap_pushes_total",
            [("state", state), ("reason", reason)],
            help: "Pushes to devices by what became of them."
        ).increment(by: count)
    }

    /// Requests to the provider by their result: a status, `timeout`, `no_connection`, `cut`, `malformed`.
    package func requested(_ result: String) {
        metrics.counter(
            "streaksnap_push_requests_total",
            [("result", result)],
            help: "Requests to the push service by result."
        ).increment()
    }
}
