public import Kernel

/// Where a list goes on (PF-3): an instant and an id, opaque to clients.
public struct PageCursor: Sendable, Hashable {
    /// The sort key of the last entry that was sent.
    public let instant: Instant
    /// Its id, for entries of the same instant; upper-case halves of a UUID.
    public let high: UInt64
    /// The id's other half.
    public let low: UInt64

    /// The cursor after an entry.
    public init<Entity>(after instant: Instant, _ id: ID<Entity>) {
        self.instant = instant
        self.high = id.high
        self.low = id.low
    }

    /// A cursor as a client sent it; nil for the start of the list.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `cursor` for text that no list has given out.
    public init?(_ text: String) throws(ServiceError) {
        guard !text.isEmpty else { return nil }
        guard let bytes = Base64URL.decode(text), bytes.count == 24 else {
            throw ServiceError.validation(field: "cursor", "is not one this list has given out")
        }
        let words = stride(from: 0, to: 24, by: 8).map { start in
            bytes.dropFirst(start).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        self.instant = Instant(microseconds: Int64(bitPattern: words[0]))
        self.high = words[1]
        self.low = words[2]
    }

    /// The id of the last entry that was sent.
    public func id<Entity>() -> ID<Entity> { ID(high: high, low: low) }

    /// What clients get as `next_cursor`.
    public var text: String {
        let words = [UInt64(bitPattern: instant.microseconds), high, low]
        let bytes = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) } }
        return Base64URL.encode(bytes)
    }
}
