public import Bus
internal import Kernel
public import Logging

extension BusConnection {
    /// Connects, waiting for a broker that is away as long as it takes; says so now and then. What the connection asks is counted and traced.
    ///
    /// - Throws: `BusConnectionError` when the broker refuses the credentials, `CancellationError`.
    public static func waiting(
        _ configuration: BusConfiguration,
        logger: Logger,
        metrics: Metrics,
        tracer: Tracer
    ) async throws -> BusConnection {
        var configuration = configuration
        configuration.connectTimeout = .seconds(5)
        let observer = Observers(
            all: [MetricsObserver(metrics, role: "client"), TracingObserver(tracer: tracer, kind: .client)]
        )
        while true {
            do {
                return try await connect(configuration, logger: logger, observer: observer)
            } catch let error as BusConnectionError where error.isPassing {
                logger.warning("waiting for the bus", metadata: ["error": "\(error)"])
            }
        }
    }
}
