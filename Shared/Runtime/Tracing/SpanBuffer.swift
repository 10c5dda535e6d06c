/// Spans that wait to be sent: bounded, the oldest give way.
struct SpanBuffer: Sendable {
    private let capacity: Int
    private var spans: [Span] = []
    private var head = 0
    /// Spans that gave way since `takeDropped`.
    private var dropped = 0

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { spans.count - head }

    mutating func append(_ span: Span) {
        spans.append(span)
        makeRoom()
    }

    /// Takes out the oldest.
    mutating func take(atMost limit: Int) -> [Span] {
        let batch = Array(spans[head..<min(head + limit, spans.count)])
        head += batch.count
        tidy()
        return batch
    }

    /// Puts back what could not be sent, before what came meanwhile.
    mutating func putBack(_ batch: [Span]) {
        spans.replaceSubrange(0..<head, with: batch)
        head = 0
        makeRoom()
    }

    /// How many gave way since the last call.
    mutating func takeDropped() -> Int {
        defer { dropped = 0 }
        return dropped
    }

    private mutating func makeRoom() {
        let excess = count - capacity
        guard excess > 0 else { return }
        dropped += excess
        head += excess
        tidy()
    }

    /// Frees what was taken, seldom enough that it costs nothing per span.
    private mutating func tidy() {
        guard head == spans.count || head >= capacity else { return }
        spans.removeFirst(head)
        head = 0
    }
}
