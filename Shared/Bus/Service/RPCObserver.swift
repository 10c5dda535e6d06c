public import Kernel

/// One RPC as seen by one side: its subject, its outcome, and its place in the trace (D11).
public struct ObservedRPC: Sendable {
    /// Its outcome.
    public enum Fate: Sendable, Hashable {
        /// Its handler ran; for the requester: it was sent.
        case ran
        /// Refused at once, because the limit of running requests was reached.
        case overloaded
        /// Dropped, because its deadline had passed when it arrived.
        case late
        /// Refused, because no gateway has sealed its principal, or did so for something else.
        case unsealed
    }

    /// Its subject, `rpc.auth.v1.Register`.
    public let method: String
    /// The span of this side.
    public let span: TraceContext
    /// The parent span; nil when this span is the root.
    public let parent: TraceContext?
    /// The id of the client's request.
    public let requestID: String
    /// Its outcome.
    public let fate: Fate
    /// The code of the error; nil when it succeeded.
    public let code: ServiceError.Code?
    /// From start to end, as seen by this side.
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

/// Notified of every request that a service answers or a connection sends; for metrics and traces. Called on the path of the
/// request: must not block.
public protocol RPCObserver: Sendable {
    /// A request was admitted, or is about to be sent; `ended` follows with the fate `ran`.
    func started(method: String)

    /// A request has ended. One that was refused or dropped was not started.
    func ended(_ rpc: ObservedRPC)

    /// A request is sent once more: it was slow, refused, or lost.
    func repeated(method: String)
}

extension RPCObserver {
    public func started(method: String) {}
    public func repeated(method: String) {}
}
