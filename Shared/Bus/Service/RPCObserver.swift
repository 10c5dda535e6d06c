public import Kernel

/// One RPC as one side of it saw it: what it was, how it ended, and its place in the trace (D11).
public struct ObservedRPC: Sendable {
    /// What became of it.
    public enum Fate: Sendable, Hashable {
        /// Its handler ran; for the side that asks: it was sent.
        case ran
        /// Refused at once, because as much ran as may.
        case overloaded
        /// Its deadline had passed when it arrived: dropped.
        case late
    }

    /// Its subject, `rpc.auth.v1.Register`.
    public let method: String
    /// The span of this side.
    public let span: TraceContext
    /// The span it happens in; nil when it begins its trace.
    public let parent: TraceContext?
    /// The id of the client's request.
    public let requestID: String
    /// What became of it.
    public let fate: Fate
    /// The code of the error; nil when it succeeded.
    public let code: ServiceError.Code?
    /// From its beginning to its end, for this side.
    public let duration: Duration

    /// An RPC that has ended.
    public init(
        method: String,
        span: TraceContext,
        parent: TraceContext?,
        requestID: String,
        fate: Fate,
        code: ServiceError.Code?,
        duration: Duration
    ) {
        self.method = method
        self.span = span
        self.parent = parent
        self.requestID = requestID
        self.fate = fate
        self.code = code
        self.duration = duration
    }
}

/// Is told of every request that a service answers, or that a connection asks; for metrics and traces. Called on the path of the
/// request: must not block.
public protocol RPCObserver: Sendable {
    /// A request was admitted, or is about to be sent; `ended` follows with the fate `ran`.
    func started(method: String)

    /// A request has ended. One that was refused or dropped was not started.
    func ended(_ rpc: ObservedRPC)
}

extension RPCObserver {
    public func started(method: String) {}
}
