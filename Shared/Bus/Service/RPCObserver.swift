public import Kernel

/// Is told of every request that a service answers; for metrics, traces and logs. Called on the path of the request: must not block.
public protocol RPCObserver: Sendable {
    /// A request was admitted and its handler is about to run.
    func started(method: String)

    /// A request has ended.
    ///
    /// - Parameters:
    ///   - method: Its subject, `rpc.auth.v1.Register`.
    ///   - code: The code of the error reply; nil when it succeeded.
    ///   - duration: From its arrival to its reply; zero when it was refused or dropped without running.
    func completed(method: String, code: ServiceError.Code?, duration: Duration)

    /// A request has ended; the same with what travelled with it.
    func completed(method: String, context: CallContext, code: ServiceError.Code?, duration: Duration)
}

extension RPCObserver {
    public func started(method: String) {}

    public func completed(method: String, context: CallContext, code: ServiceError.Code?, duration: Duration) {
        completed(method: method, code: code, duration: duration)
    }
}
