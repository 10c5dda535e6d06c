extension Bool: PostgresValue {
    public static var postgresType: PostgresType { .bool }

    public func encode(into bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }

    public init(decoding cell: PostgresCell) throws(DatabaseError) {
        guard cell.type == .bool, cell.bytes.count == 1 else { throw cell.mismatch("Bool") }
        self = cell.bytes[0] != 0
    }
}

extension PostgresCell {
    /// A whole number from any of PostgreSQL's number types, when it fits (`sum(bigint)` is a `numeric`).
    fileprivate func wholeNumber<Number: FixedWidthInteger>(_: Number.Type) throws(DatabaseError) -> Number {
        let wide: Int64? =
            switch type {
            case .int8: integer(Int64.self)
            case .int4: integer(Int32.self).map(Int64.init)
            case .int2: integer(Int16.self).map(Int64.init)
            case .oid: integer(UInt32.self).map(Int64.init)
            case .numeric: PostgresNumeric(bytes)?.wholeNumber
            default: nil
            }
        guard let wide, let number = Number(exactly: wide) else { throw mismatch("\(Number.self)") }
        return number
    }
}

extension Int: PostgresValue {
    public static var postgresType: PostgresType { .int8 }

    public func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: Int64(self)) }

    public init(decoding cell: PostgresCell) throws(DatabaseError) { self = try cell.wholeNumber(Int.self) }
}

extension Int64: PostgresValue {
    public static var postgresType: PostgresType { .int8 }

    public func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: self) }

    public init(decoding cell: PostgresCell) throws(DatabaseError) { self = try cell.wholeNumber(Int64.self) }
}

extension Int32: PostgresValue {
    public static var postgresType: PostgresType { .int4 }

    public func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: self) }

    public init(decoding cell: PostgresCell) throws(DatabaseError) { self = try cell.wholeNumber(Int32.self) }
}

extension Int16: PostgresValue {
    public static var postgresType: PostgresType { .int2 }

    public func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: self) }

    public init(decoding cell: PostgresCell) throws(DatabaseError) { self = try cell.wholeNumber(Int16.self) }
}

extension Double: PostgresValue {
    public static var postgresType: PostgresType { .float8 }

    public func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: bitPattern) }

    public init(decoding cell: PostgresCell) throws(DatabaseError) {
        let number: Double? =
            switch cell.type {
            case .float8: cell.integer(UInt64.self).map(Double.init(bitPattern:))
            case .float4: cell.integer(UInt32.self).map { Double(Float(bitPattern: $0)) }
            case .numeric: PostgresNumeric(cell.bytes)?.number
            case .int2, .int4: try Double(cell.wholeNumber(Int64.self))
            default: nil
            }
        guard let number else { throw cell.mismatch("Double") }
        self = number
    }
}

/// `numeric` as the server sends it: base-10,000 digits, the position of the first, and a sign (src/backend/utils/adt/numeric.c).
struct PostgresNumeric {
    private let digits: UnsafeRawBufferPointer.SubSequence
    private let weight: Int
    private let isNegative: Bool
    private let isNaN: Bool

    /// Nil when the bytes are not a finite numeric.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 8 else { return nil }
        func field(_ index: Int) -> UInt16 { UInt16(bytes[index * 2]) << 8 | UInt16(bytes[index * 2 + 1]) }
        let sign = field(2)
        guard sign == 0 || sign == 0x4000 || sign == 0xC000, bytes.count == 8 + Int(field(0)) * 2 else { return nil }
        weight = Int(Int16(bitPattern: field(1)))
        isNegative = sign == 0x4000
        isNaN = sign == 0xC000
        digits = bytes[8...]
    }

    private func digit(_ index: Int) -> Int64 {
        let position = digits.startIndex + index * 2
        return Int64(digits[position]) << 8 | Int64(digits[position + 1])
    }

    private var count: Int { digits.count / 2 }

    /// The value; nil when it has a fraction or does not fit.
    var wholeNumber: Int64? {
        guard !isNaN else { return nil }
        var value: Int64 = 0
        for index in 0..<max(count, weight + 1) {
            let next = index < count ? digit(index) : 0
            guard index <= weight else {
                if next != 0 { return nil }
                continue
            }
            // Computed with negative numbers: the most negative one has no positive counterpart.
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10_000)
            let (sum, carry) = shifted.subtractingReportingOverflow(next)
            guard !overflow, !carry else { return nil }
            value = sum
        }
        guard !isNegative else { return value }
        let (positive, overflow) = Int64(0).subtractingReportingOverflow(value)
        return overflow ? nil : positive
    }

    /// The nearest floating-point number.
    var number: Double? {
        guard !isNaN else { return .nan }
        guard count > 0 else { return 0 }
        // Through decimal text, so that rounding happens once.
        var text = isNegative ? "-" : ""
        for index in 0..<count {
            let part = String(digit(index))
            text += String(repeating: "0", count: 4 - part.count) + part
        }
        return Double(text + "e\((weight - count + 1) * 4)")
    }
}
