private import Synchronization

/// How far the features of a replica have consumed the streams that they read, for who must not go on before facts that are on their way have
/// come: asked by place in the stream, not by a pause.
public final class EventProgress: Sendable {
    private let consumers = Mutex<[String: EventConsumer]>([:])

    /// Of a replica whose consumers are not made yet (`follow`).
    public init() {}

    /// Takes up the consumers of a replica, each by its feature.
    public func follow(_ consumers: [EventConsumer]) {
        self.consumers.withLock { $0 = Dictionary(consumers.map { ($0.feature, $0) }) { first, _ in first } }
    }

    /// Where the streams that a feature reads end now, by their names (`EVT_AUTH`); empty for a feature that consumes nothing.
    ///
    /// - Throws: when the broker does not answer.
    public func ends(of feature: String) async throws -> [String: Int] {
        var ends: [String: Int] = [:]
        guard let consumer = consumers.withLock({ $0[feature] }) else { return ends }
        for stream in consumer.streams { ends[stream] = try await EventConsumer.end(of: stream, consumer.jetStream) }
        return ends
    }

    /// Whether a feature has consumed its streams up to these places, in whichever replica. A stream that was made anew is behind them: it
    /// counts as consumed when it is so to its end.
    ///
    /// - Throws: when the database or the broker does not answer.
    public func hasConsumed(_ feature: String, upTo places: [String: Int]) async throws -> Bool {
        guard let consumer = consumers.withLock({ $0[feature] }) else { return true }
        for (stream, place) in places where try await consumer.position(in: stream) < place {
            guard try await EventConsumer.end(of: stream, consumer.jetStream) < place else { return false }
            return try await consumer.pending()[stream] == 0
        }
        return true
    }
}
