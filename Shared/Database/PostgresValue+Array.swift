public import Kernel

/// A type whose arrays are PostgreSQL arrays (`[UserID]` is `uuid[]`, `[String?]` is `text[]` with NULLs); `[UInt8]` is `bytea`.
///
/// Bind arrays as `= ANY(\(ids))`, and rows of several columns as `FROM \(rows: .of(ids), .of(dates)) AS new (id, on_date)`.
public protocol PostgresArrayElement: Sendable {
    /// The type of an element.
    static var postgresElementType: PostgresType { get }
    /// The type of the array.
    static var postgresArrayType: PostgresType { get }
    /// Appends the binary form of one element. - Returns: false, and nothing is appended, when it is NULL.
    func encode(elementInto bytes: inout [UInt8]) throws(DatabaseError) -> Bool
    /// Appends the binary form of an array.
    static func encode(array: [Self], into bytes: inout [UInt8]) throws(DatabaseError)
    /// Reads the binary form of an array.
    static func decode(array cell: PostgresCell) throws(DatabaseError) -> [Self]
}

extension Array: PostgresColumn where Element: PostgresArrayElement {}

extension Array: PostgresValue where Element: PostgresArrayElement {
    public static var postgresType: PostgresType { Element.postgresArrayType }

    public func encode(into bytes: inout [UInt8]) throws(DatabaseError) { try Element.encode(array: self, into: &bytes) }

    public init(decoding cell: PostgresCell) throws(DatabaseError) { self = try Element.decode(array: cell) }
}

/// `bytea` is this module's array of bytes.
extension UInt8: PostgresArrayElement {
    public static var postgresElementType: PostgresType { .bytea }
    public static var postgresArrayType: PostgresType { .bytea }

    public func encode(elementInto bytes: inout [UInt8]) -> Bool {
        bytes.append(self)
        return true
    }

    public static func encode(array: [UInt8], into bytes: inout [UInt8]) { bytes.append(contentsOf: array) }

    public static func decode(array cell: PostgresCell) throws(DatabaseError) -> [UInt8] {
        guard cell.type == .bytea else { throw cell.mismatch("[UInt8]") }
        return Array(cell.bytes)
    }
}

/// The binary form of a one-dimensional array (src/backend/utils/adt/arrayfuncs.c, `array_recv`).
enum PostgresArray {
    /// The array type with this element type, or `text[]` for an unknown one: the server then reports the mismatch.
    static func type(of element: PostgresType) -> PostgresType { element.array ?? PostgresType(oid: 1009) }

    static func encode<Element: PostgresArrayElement>(_ array: [Element], into bytes: inout [UInt8]) throws(DatabaseError) {
        guard array.count <= Int32.max else { throw DatabaseError(.invalidValue, detail: "an array too long") }
        let nullFlag = bytes.count + 4
        bytes.appendArrayHead(array.count, hasNulls: false, of: Element.postgresElementType)
        for element in array {
            let offset = bytes.count
            bytes.append(bigEndian: Int32(-1))
            if try element.encode(elementInto: &bytes) {
                bytes.setLength(bytes.count - offset - 4, at: offset)
            } else {
                bytes[nullFlag + 3] = 1
            }
        }
    }

    static func decode<Element: PostgresColumn>(_ cell: PostgresCell, as _: Element.Type) throws(DatabaseError) -> [Element] {
        let bytes = cell.bytes
        var offset = 0
        func number() throws(DatabaseError) -> Int {
            guard offset + 4 <= bytes.count else { throw cell.mismatch("[\(Element.self)]") }
            defer { offset += 4 }
            return Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)))
        }
        let dimensions = try number()
        _ = try number()
        let type = PostgresType(oid: UInt32(truncatingIfNeeded: try number()))
        guard cell.type == type.array || type.oid >= PostgresType.firstUserOID || type.array == nil, dimensions <= 1 else {
            throw cell.mismatch("[\(Element.self)]")
        }
        guard dimensions == 1 else { return [] }
        let count = try number()
        _ = try number()
        // Each element has at least the four bytes of its length.
        guard count >= 0, count <= (bytes.count - offset) / 4 else { throw cell.mismatch("[\(Element.self)]") }
        var result: [Element] = []
        result.reserveCapacity(count)
        for _ in 0..<count {
            let length = try number()
            guard length >= 0 else {
                result.append(try Element.read(nil))
                continue
            }
            guard length <= bytes.count - offset else { throw cell.mismatch("[\(Element.self)]") }
            let element = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
            result.append(try Element.read(PostgresCell(type: type, bytes: element)))
            offset += length
        }
        return result
    }
}

extension [UInt8] {
    /// Appends what an array begins with: dimensions, a flag, the type of its elements, and count and lowest index of its dimension.
    mutating func appendArrayHead(_ count: Int, hasNulls: Bool, of element: PostgresType) {
        append(bigEndian: Int32(count == 0 ? 0 : 1))
        append(bigEndian: Int32(hasNulls ? 1 : 0))
        append(bigEndian: element.oid)
        guard count > 0 else { return }
        append(bigEndian: Int32(count))
        append(bigEndian: Int32(1))
    }
}

extension PostgresArrayElement where Self: PostgresValue {
    public static var postgresElementType: PostgresType { postgresType }
    public static var postgresArrayType: PostgresType { PostgresArray.type(of: postgresType) }

    public func encode(elementInto bytes: inout [UInt8]) throws(DatabaseError) -> Bool {
        try encode(into: &bytes)
        return true
    }

    public static func encode(array: [Self], into bytes: inout [UInt8]) throws(DatabaseError) {
        try PostgresArray.encode(array, into: &bytes)
    }

    public static func decode(array cell: PostgresCell) throws(DatabaseError) -> [Self] {
        try PostgresArray.decode(cell, as: Self.self)
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresValue & PostgresArrayElement {
    public static var postgresElementType: PostgresType { Wrapped.postgresType }
    public static var postgresArrayType: PostgresType { Wrapped.postgresArrayType }

    public func encode(elementInto bytes: inout [UInt8]) throws(DatabaseError) -> Bool {
        guard let self else { return false }
        try self.encode(into: &bytes)
        return true
    }

    public static func encode(array: [Wrapped?], into bytes: inout [UInt8]) throws(DatabaseError) {
        try PostgresArray.encode(array, into: &bytes)
    }

    public static func decode(array cell: PostgresCell) throws(DatabaseError) -> [Wrapped?] {
        try PostgresArray.decode(cell, as: Wrapped?.self)
    }
}

extension Array: PostgresArrayElement where Element == UInt8 {}
extension Bool: PostgresArrayElement {}
extension Int: PostgresArrayElement {}
extension Int16: PostgresArrayElement {}
extension Int32: PostgresArrayElement {}
extension Int64: PostgresArrayElement {}
extension Double: PostgresArrayElement {}
extension String: PostgresArrayElement {}
extension Instant: PostgresArrayElement {}
extension CalendarDate: PostgresArrayElement {}
extension Interval: PostgresArrayElement {}
extension ID: PostgresArrayElement {}
