internal import FoundationEssentials
public import Kernel

/// A message of a stream that was read by its sequence number, without a consumer.
public struct StoredMessage: Sendable, Equatable {
    /// The subject it was published to.
    public let subject: String
    /// Its headers.
    public let headers: BusHeaders
    /// Its payload.
    public let body: [UInt8]
    /// Its sequence number in the stream.
    public let streamSequence: Int
    /// When the stream stored it.
    public let timestamp: Instant
}

extension JetStream {
    /// Which message to read.
    private struct Place: Encodable {
        var sequence: Int?
        var next: String?
        var last: String?

        enum CodingKeys: String, CodingKey {
            case sequence = "seq"
            case next = "next_by_subj"
            case last = "last_by_subj"
        }
    }

    /// Reads the message with a sequence number of a stream.
    ///
    /// - Returns: nil when the stream has no such message, or no longer.
    /// - Throws: `JetStreamError` also when there is no such stream, `ServiceError`.
    public func message(in stream: String, at sequence: Int) async throws -> StoredMessage? {
        try await answer(startReading(stream, Place(sequence: sequence)))
    }

    /// Reads the newest message of a stream.
    ///
    /// - Returns: nil when the stream has none.
    /// - Throws: as `message(in:at:)`.
    public func newestMessage(in stream: String) async throws -> StoredMessage? {
        try await answer(startReading(stream, Place(last: ">")))
    }

    /// Reads the messages with the sequence numbers `places`, from the first on, without a consumer: one request for each message,
    /// all at once.
    ///
    /// - Parameter limit: most messages to read, at least 1.
    /// - Returns: messages in the order of the stream; none only when the stream has none at all of `places`.
    /// - Throws: as `message(in:at:)`.
    public func messages(in stream: String, at places: ClosedRange<Int>, atMost limit: Int) async throws -> [StoredMessage] {
        // Many messages may have expired from the stream, so the first one that exists is requested as such.
        let first = try await answer(startReading(stream, Place(sequence: places.lowerBound, next: ">")))
        guard let first, first.streamSequence <= places.upperBound else { return [] }
        let last = min(places.upperBound, first.streamSequence + max(1, limit) - 1)
        guard last > first.streamSequence else { return [first] }
        let reading = try (first.streamSequence + 1...last).map { try startReading(stream, Place(sequence: $0)) }
        var messages = [first]
        for pending in reading {
            if let message = try await answer(pending) { messages.append(message) }
        }
        return messages
    }

    private func startReading(_ stream: String, _ place: Place) throws -> PendingReply {
        try start("STREAM.MSG.GET", of: stream, place)
    }

    private func answer(_ pending: PendingReply) async throws -> StoredMessage? {
        do {
            return try JetStreamCodec.decode(JetStreamCodec.Stored.self, try await pending.value()).message.message()
        } catch let error as JetStreamError where error.code == JetStreamError.messageNotFound {
            return nil
        }
    }
}

extension JetStreamCodec {
    /// The reply to `STREAM.MSG.GET`.
    struct Stored: Decodable {
        let message: Message

        struct Message: Decodable {
            let subject: String
            let seq: Int
            let hdrs: Data?
            let data: Data?
            let time: String

            /// - Throws: `ServiceError` when the broker's reply is invalid.
            func message() throws -> StoredMessage {
                guard let timestamp = Instant(rfc3339: time) else {
                    throw ServiceError.unavailable("The event stream sent an invalid reply.")
                }
                return StoredMessage(
                    subject: subject,
                    headers: BusHeaders(block: hdrs.map { [UInt8]($0) } ?? []),
                    body: data.map { [UInt8]($0) } ?? [],
                    streamSequence: seq,
                    timestamp: timestamp
                )
            }
        }
    }
}

extension BusHeaders {
    /// A header block in wire format: `NATS/1.0`, then a line for each value (ADR-4). Invalid lines are skipped.
    init(block: [UInt8]) {
        self.init()
        let lines = block.split(whereSeparator: { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") })
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let value = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }
            append(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
        }
    }
}
