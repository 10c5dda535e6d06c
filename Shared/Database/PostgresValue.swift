/// A Swift type that can be bound to a statement and read from a column, in PostgreSQL's binary format.
///
/// Every Swift type has one PostgreSQL type, the same in every statement. For another type the statement casts: `\(json)::jsonb`.
/// A `RawRepresentable` type gets its conformance for free: `enum Status: String, PostgresValue { … }`.
public protocol PostgresValue: PostgresColumn {
    /// The type sent to the server.
    static var postgresType: PostgresType { get }

    /// Appends the binary form.
    ///
    /// - Throws: `DatabaseError` `invalidValue` when PostgreSQL cannot hold the value.
    func encode(into bytes: inout [UInt8]) throws(DatabaseError)

    /// Reads the binary form.
    ///
    /// - Throws: `DatabaseError` `decoding` when the column's type or value does not match.
    init(decoding cell: PostgresCell) throws(DatabaseError)
}

/// One value of a result that is not NULL; valid only during the call that gets it.
public struct PostgresCell {
    /// The column's type (the element's, inside an array).
    public let type: PostgresType
    /// The value's binary form.
    public let bytes: UnsafeRawBufferPointer

    /// The error for a value that does not match.
    public func mismatch(_ wanted: String) -> DatabaseError {
        DatabaseError(.decoding, detail: "type \(type.oid), \(bytes.count) bytes, is not \(wanted)")
    }

    /// The bytes as one big-endian number; nil when their count is not that of the number.
    func integer<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        guard bytes.count == MemoryLayout<Number>.size else { return nil }
        return Number(bigEndian: bytes.loadUnaligned(as: Number.self))
    }
}

extension Array where Element == UInt8 {
    /// Appends a number in network byte order.
    mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    /// Overwrites four bytes that were reserved for a length.
    mutating func setLength(_ length: Int, at offset: Int) {
        Swift.withUnsafeBytes(of: Int32(truncatingIfNeeded: length).bigEndian) { source in
            for index in 0..<4 { self[offset + index] = source[index] }
        }
    }
}

extension PostgresValue where Self: RawRepresentable, RawValue: PostgresValue {
    public static var postgresType: PostgresType { RawValue.postgresType }

    public func encode(into bytes: inout [UInt8]) throws(DatabaseError) { try rawValue.encode(into: &bytes) }

    @inlinable
    public init(decoding cell: PostgresCell) throws(DatabaseError) {
        guard let value = Self(rawValue: try RawValue(decoding: cell)) else { throw cell.mismatch("\(Self.self)") }
        self = value
    }
}

/// A type that a column is read as: a `PostgresValue`, or an optional one where NULL is allowed.
public protocol PostgresColumn: Sendable {
    /// Reads a value; `cell` is nil for NULL.
    ///
    /// - Throws: `DatabaseError` `decoding` for a value that does not match, or NULL where it is not allowed.
    static func read(_ cell: PostgresCell?) throws(DatabaseError) -> Self
}

extension PostgresValue {
    /// Reads a value; NULL is refused.
    @inlinable
    public static func read(_ cell: PostgresCell?) throws(DatabaseError) -> Self {
        guard let cell else { throw .null(where: "\(Self.self)") }
        return try Self(decoding: cell)
    }
}

extension Optional: PostgresColumn where Wrapped: PostgresValue {
    @inlinable
    public static func read(_ cell: PostgresCell?) throws(DatabaseError) -> Wrapped? {
        guard let cell else { return nil }
        return try Wrapped(decoding: cell)
    }
}

extension DatabaseError {
    /// The error for a NULL where it is not allowed.
    @usableFromInline
    static func null(where wanted: String) -> DatabaseError { DatabaseError(.decoding, detail: "NULL is not \(wanted)") }
}
