internal import Transcoding

/// How far one stream is, and whether something is missing. Pure: what arrives in, what to send and whether to ask out.
///
/// Messages on the bus may be lost, doubled, or come in another order. Ids are a counter, so a gap shows; then, and at the beginning, the
/// service is asked for what is missing. What arrives while an answer is awaited is not kept, only its number: a stream holds no events.
struct StreamProgress: Equatable {
    /// What a change leads to.
    struct Step: Equatable {
        /// To be sent to the client, in order.
        var events: [StreamEvent] = []
        /// Ask the service for what is after `position`.
        var asks = false
    }

    /// What the client has: the header as it was sent, then the number of the last event.
    private(set) var position: String
    /// The last event that was sent; nil before the first answer.
    private(set) var last: Int64?
    /// Whether an answer is awaited. It is from the beginning.
    private(set) var isAsking = true
    /// The newest id that was seen while an answer was awaited.
    private var seen = Int64.min

    init(lastEventID: String) { position = lastEventID }

    /// Events came over the bus.
    mutating func received(_ events: [StreamEvent]) -> Step {
        var step = Step()
        for event in events.sorted(by: { $0.id < $1.id }) {
            guard !isAsking, let last else {
                seen = max(seen, event.id)
                continue
            }
            if event.id <= last { continue }
            guard event.id == last + 1 else {
                (isAsking, step.asks, seen) = (true, true, event.id)
                continue
            }
            advance(to: event.id)
            step.events.append(event)
        }
        return step
    }

    /// The service has answered.
    mutating func answered(_ page: StreamPage) -> Step {
        advance(to: page.lastID)
        // Only what came meanwhile: an id that the service does not know must not make us ask for ever.
        let isBehind = seen > page.lastID
        (isAsking, seen) = (isBehind, .min)
        return Step(events: page.events, asks: isBehind)
    }

    /// The newest id there is, as the service says; nil when it does not know the stream any more. - Returns: whether to ask it.
    mutating func reported(_ newest: Int64?) -> Bool {
        guard !isAsking, let last, newest.map({ $0 != last }) ?? true else { return false }
        // A message may be on its way that makes the question needless; the answer is right all the same.
        isAsking = true
        return true
    }

    private mutating func advance(to id: Int64) { (last, position) = (id, String(id)) }
}
