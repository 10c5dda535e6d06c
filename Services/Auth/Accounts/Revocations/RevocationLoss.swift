internal import Bus
internal import Kernel
internal import Tokens

/// Notices that the stream of revocations may lack some that were stored in it. Events in, an answer out; no I/O.
///
/// What a replica knows of the stream is what it stored and observed itself. At its start that is nothing, so the stream is filled once.
struct RevocationLoss: Sendable {
    /// So long after it was stored, a message must be there: it expires after `RevocationStream.lifetime`.
    private static let certain = RevocationStream.lifetime - .minutes(2)
    /// One message is remembered for each stretch of this length.
    private static let stretch = Interval.seconds(10)

    private var created: Instant?
    private var newest = 0
    private var stored: [(sequence: Int, at: Instant)] = []

    /// Whether the stream has to be filled from the table.
    private(set) var mustFill = true

    /// The stream has confirmed a message.
    ///
    /// - Parameter now: by the machine's clock, as the stream's own.
    mutating func stored(_ sequence: Int, at now: Instant) {
        newest = max(newest, sequence)
        if now - (stored.last?.at ?? .epoch) >= Self.stretch { stored.append((sequence, now)) }
    }

    /// The stream's state.
    mutating func observed(_ info: StreamInfo, at now: Instant) {
        stored.removeAll { now - $0.at >= Self.certain }
        let isAnother = created.map { $0 != info.created } ?? false
        let lacksBeginning = stored.contains { $0.sequence < info.firstSequence }
        if isAnother || info.lastSequence < newest || lacksBeginning {
            mustFill = true
            stored = []
            newest = 0
        }
        created = info.created
        newest = max(newest, info.lastSequence)
    }

    /// Everything in the table was stored after the last observation.
    mutating func filled() { mustFill = false }
}
