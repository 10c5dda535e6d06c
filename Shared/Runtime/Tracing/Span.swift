public import Bus
public import Kernel

/// Something that took time in a trace, as a collector gets it.
public struct Span: Sendable {
    /// Which side of what.
    public enum Kind: Int, Sendable {
        /// Answered a request.
        case server = 2
        /// Sent a request.
        case client = 3
    }

    /// Something known about it.
    public enum Attribute: Sendable, Equatable {
        /// A text.
        case text(String)
        /// A whole number.
        case number(Int)
    }

    /// Its own ids.
    public var context: TraceContext
    /// The span it happened in; nil for the first of its trace.
    public var parent: TraceContext?
    /// `GET /api/streaks`, `streaks.v1/GetStreak`: never with ids or other values in it.
    public var name: String
    /// Which side.
    public var kind: Kind
    /// When it began, by the machine's clock.
    public var start: Instant
    /// How long it took.
    public var duration: Duration
    /// What is known, by the names of OpenTelemetry's conventions.
    public var attributes: [(name: String, value: Attribute)]
    /// What went wrong; nil when nothing did that an operator should see.
    public var failure: String?

    /// A span that has just ended.
    public init(
        _ context: TraceContext,
        parent: TraceContext?,
        name: String,
        kind: Kind,
        duration: Duration,
        attributes: [(name: String, value: Attribute)] = [],
        failure: String? = nil
    ) {
        self.context = context
        self.parent = parent
        self.name = name
        self.kind = kind
        self.start = SystemClock.now() - Interval(microseconds: Int64(duration / .microseconds(1)))
        self.duration = duration
        self.attributes = attributes
        self.failure = failure
    }
}
