public import Kernel

extension ID: PostgresValue {
    public static var postgresType: PostgresType { .uuid }

    public func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }

    @inlinable
    public init(decoding cell: PostgresCell) throws(DatabaseError) {
        guard cell.type == .uuid, cell.bytes.count == 16 else { throw cell.mismatch("ID") }
        self.init(
            high: UInt64(bigEndian: cell.bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: cell.bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
    }
}

/// PostgreSQL counts from 2000-01-01 (src/include/datatype/timestamp.h); these are the limits of its `timestamptz` and `date`.
private enum PostgresEpoch {
    static let microseconds: Int64 = 946_684_800_000_000
    static let days: Int32 = 10_957
    static let firstMicrosecond: Int64 = -211_813_488_000_000_000
    static let firstDay: Int32 = -2_451_545
    static let lastDay: Int32 = 2_145_031_948
}

extension Instant: PostgresValue {
    public static var postgresType: PostgresType { .timestamptz }

    /// - Throws: `DatabaseError` `invalidValue` for an instant before 4713 BC.
    public func encode(into bytes: inout [UInt8]) throws(DatabaseError) {
        let (shifted, overflow) = microseconds.subtractingReportingOverflow(PostgresEpoch.microseconds)
        guard !overflow, shifted >= PostgresEpoch.firstMicrosecond else {
            throw DatabaseError(.invalidValue, detail: "an instant out of range")
        }
        bytes.append(bigEndian: shifted)
    }

    /// Infinite timestamps, and those after the year 294246, are refused.
    public init(decoding cell: PostgresCell) throws(DatabaseError) {
        guard cell.type == .timestamptz, let shifted = cell.integer(Int64.self), shifted != .min else {
            throw cell.mismatch("Instant")
        }
        let (microseconds, overflow) = shifted.addingReportingOverflow(PostgresEpoch.microseconds)
        guard !overflow else { throw cell.mismatch("Instant") }
        self.init(microseconds: microseconds)
    }
}

extension CalendarDate: PostgresValue {
    public static var postgresType: PostgresType { .date }

    /// - Throws: `DatabaseError` `invalidValue` for a date that PostgreSQL does not have.
    public func encode(into bytes: inout [UInt8]) throws(DatabaseError) {
        let (shifted, overflow) = dayNumber.subtractingReportingOverflow(PostgresEpoch.days)
        guard !overflow, shifted >= PostgresEpoch.firstDay, shifted <= PostgresEpoch.lastDay else {
            throw DatabaseError(.invalidValue, detail: "a date out of range")
        }
        bytes.append(bigEndian: shifted)
    }

    /// Infinite dates are refused.
    public init(decoding cell: PostgresCell) throws(DatabaseError) {
        guard cell.type == .date, let shifted = cell.integer(Int32.self), shifted != .max, shifted != .min else {
            throw cell.mismatch("CalendarDate")
        }
        self.init(dayNumber: shifted + PostgresEpoch.days)
    }
}

extension Interval: PostgresValue {
    public static var postgresType: PostgresType { .interval }

    /// Sent as microseconds only: a length is never a calendar day.
    public func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: microseconds)
        bytes.append(bigEndian: Int32(0))
        bytes.append(bigEndian: Int32(0))
    }

    /// A day counts 24 hours; an interval with months has no fixed length and is refused.
    public init(decoding cell: PostgresCell) throws(DatabaseError) {
        guard cell.type == .interval, cell.bytes.count == 16,
            cell.bytes.loadUnaligned(fromByteOffset: 12, as: Int32.self) == 0
        else { throw cell.mismatch("Interval") }
        let days = Int32(bigEndian: cell.bytes.loadUnaligned(fromByteOffset: 8, as: Int32.self))
        let rest = Int64(bigEndian: cell.bytes.loadUnaligned(as: Int64.self))
        let (sum, overflow) = rest.addingReportingOverflow(Int64(days) * 86_400_000_000)
        guard !overflow else { throw cell.mismatch("Interval") }
        self.init(microseconds: sum)
    }
}
