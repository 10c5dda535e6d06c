public import Bus
internal import Kernel
public import Logging
public import Loop

extension BusConnection {
    /// Connects, waiting for a broker that is away as long as it takes; logs that it waits. What the connection asks is counted and traced.
    ///
    /// - Parameter loop: as of `connect`.
    /// - Throws: `BusConnectionError` when the broker refuses the credentials, `CancellationError`.
    public static func waiting(
        _ configuration: BusConfiguration,
        loop: IOLoop? = nil,
        logger: Logger,
        metrics: Metrics,
        tracer: Tracer
    ) async throws -> BusConnection {
        var configuration = configuration
        configuration.connectTimeout = .seconds(5)
        let observer = metrics.observer(ofRequestsAs: .client, tracer)
        while true {
            do {
                return try await connect(configuration, loop: loop, logger: logger, observer: observer)
            } catch let error as BusConnectionError where error.isPassing {
                logger.warning("waiting for the bus", metadata: ["error": "\(error)"])
            }
        }
    }
}

/// A part in a request on the bus.
public enum RequestRole: String, Sendable {
    /// Sends the request.
    case client
    /// Answers it.
    case server
}

extension Metrics {
    /// Counts and traces requests on the bus.
    public func observer(ofRequestsAs role: RequestRole, _ tracer: Tracer) -> any RPCObserver {
        Observers(
            all: [
                MetricsObserver(self, role: role.rawValue),
                TracingObserver(tracer: tracer, kind: role == .client ? .client : .server),
            ]
        )
    }
}
