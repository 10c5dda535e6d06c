public import Kernel

/// A place in a list that is sorted by an instant and an id: that of the last entry that was sent (PF-3).
public struct PageCursor: CursorPosition {
    /// The sort key of the last entry that was sent.
    public let instant: Instant
    /// Its id, for entries of the same instant; upper half of a UUID.
    public let high: UInt64
    /// The id's other half.
    public let low: UInt64

    /// The place after an entry.
    public init<Entity>(after instant: Instant, _ id: ID<Entity>) {
        self.instant = instant
        self.high = id.high
        self.low = id.low
    }

    /// The id of the last entry that was sent.
    public func id<Entity>() -> ID<Entity> { ID(high: high, low: low) }

    /// nil unless the instant lies in the years 1 to 9999, which PostgreSQL holds. Any 16 bytes are a UUID to it.
    public init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count == 24 else { return nil }
        let words = (0..<3).map { UInt64(bigEndianBytes: bytes.dropFirst($0 * 8).prefix(8)) }
        instant = Instant(microseconds: Int64(bitPattern: words[0]))
        (high, low) = (words[1], words[2])
        guard Instant.writable.contains(instant) else { return nil }
    }

    public var bytes: [UInt8] {
        [UInt64(bitPattern: instant.microseconds), high, low].flatMap(\.bigEndianBytes)
    }
}

/// A place in a list that is sorted by dates: the last date that was sent.
extension CalendarDate: CursorPosition {
    /// nil unless the date lies in the years 1 to 9999.
    public init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count == 8, let day = Int32(exactly: Int64(bitPattern: UInt64(bigEndianBytes: bytes))) else { return nil }
        self.init(dayNumber: day)
        guard (1...9999).contains(components.year) else { return nil }
    }

    public var bytes: [UInt8] { UInt64(bitPattern: Int64(dayNumber)).bigEndianBytes }
}

extension UInt64 {
    /// The number that these bytes, eight at most, begin with the highest.
    fileprivate init(bigEndianBytes bytes: some Sequence<UInt8>) { self = bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    /// Its eight bytes, the highest first.
    fileprivate var bigEndianBytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: self >> UInt64(56 - 8 * $0)) }
    }
}
