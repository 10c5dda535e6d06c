/// A position in a distributed trace: W3C Trace Context, level 1.
public struct TraceContext: Sendable, Hashable, CustomStringConvertible {
    private let traceHigh: UInt64
    private let traceLow: UInt64
    private let span: UInt64
    /// Bit 0: the trace is recorded.
    public let flags: UInt8

    private init(traceHigh: UInt64, traceLow: UInt64, span: UInt64, flags: UInt8) {
        self.traceHigh = traceHigh
        self.traceLow = traceLow
        self.span = span
        self.flags = flags
    }

    /// A context from a `traceparent` header; nil for a header that is invalid by the specification.
    ///
    /// Versions above `00` are read as far as they are known, as the specification asks.
    public init?(traceparent text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 55, bytes.count <= 512, bytes[2] == 45, bytes[35] == 45, bytes[52] == 45,
            let version = Hex.value(bytes[0..<2]), version != 0xFF,
            version == 0 ? bytes.count == 55 : bytes.count == 55 || bytes[55] == 45,
            let high = Hex.value(bytes[3..<19]), let low = Hex.value(bytes[19..<35]), high | low != 0,
            let span = Hex.value(bytes[36..<52]), span != 0,
            let flags = Hex.value(bytes[53..<55])
        else { return nil }
        self.init(traceHigh: high, traceLow: low, span: span, flags: UInt8(flags))
    }

    /// The root of a new trace.
    ///
    /// - Parameter ratio: The share of traces that is recorded, from 0 to 1. None by default, because most work without a client's
    ///   request (discovery, fetching keys) is of no interest. The trace's id decides, so that all services with the same ratio
    ///   agree.
    public static func random(recorded ratio: Double = 0) -> TraceContext {
        let low = Entropy.word() | 1
        // 53 bits: the precision of a double.
        let isRecorded = Double(low >> 11) < ratio * Double(UInt64(1) << 53)
        return TraceContext(traceHigh: Entropy.word(), traceLow: low, span: Entropy.word() | 1, flags: isRecorded ? 1 : 0)
    }

    /// A new span in the same trace.
    public func child() -> TraceContext {
        TraceContext(traceHigh: traceHigh, traceLow: traceLow, span: Entropy.word() | 1, flags: flags)
    }

    /// 32 lower-case hex digits.
    public var traceID: String { Hex.text(traceHigh) + Hex.text(traceLow) }

    /// 16 lower-case hex digits.
    public var spanID: String { Hex.text(span) }

    /// Whether the trace is recorded.
    public var isSampled: Bool { flags & 1 == 1 }

    /// The `traceparent` header.
    public var description: String { "00-\(traceID)-\(spanID)-\(Hex.text(UInt64(flags), digits: 2))" }
}
