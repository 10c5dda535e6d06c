internal import Bus
internal import Kernel

/// How far a stream was read without a consumer, and what of it is missing. States in, places out; no I/O.
struct StreamPosition: Sendable {
    private var created: Instant?
    private var last = 0

    /// The stream's present state.
    ///
    /// - Returns: the places that are to be read, from the first on; nil when all were. Of a stream that was made anew, or has lost its end,
    ///   these are all.
    mutating func missing(_ info: StreamInfo) -> ClosedRange<Int>? {
        if created != info.created || info.lastSequence < last {
            created = info.created
            last = 0
        }
        let first = max(last + 1, info.firstSequence)
        return first <= info.lastSequence ? first...info.lastSequence : nil
    }

    /// Everything up to this place was read, or is not there any more.
    mutating func read(upTo sequence: Int) { last = max(last, sequence) }
}
