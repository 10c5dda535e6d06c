internal import Kernel

/// The statistics of one endpoint for `$SRV.STATS`.
struct EndpointStatistics: Sendable {
    private(set) var requests: Int64 = 0
    private(set) var errors: Int64 = 0
    private(set) var lastError = ""
    private(set) var processingNanoseconds: Int64 = 0

    /// Mean of all requests, in nanoseconds.
    var averageNanoseconds: Int64 { requests == 0 ? 0 : processingNanoseconds / requests }

    /// A request has ended.
    mutating func record(_ error: ServiceError?, _ duration: Duration) {
        requests += 1
        processingNanoseconds += Int64(duration / .nanoseconds(1))
        guard let error else { return }
        errors += 1
        lastError = "\(error.code.httpStatus):\(error.reason)"
    }
}
