/// Why a request body is not JSON, or not JSON that is read here.
struct SyntaxProblem: Error {
    let offset: Int
    let message: StaticString
}

/// What is wrong with a string that is well-formed JSON.
enum StringProblem {
    case none
    case invalidUTF8
    case nul
    case loneSurrogate

    var message: String {
        switch self {
        case .none: ""
        case .invalidUTF8: "must be valid UTF-8"
        case .nul: "must not contain NUL"
        case .loneSurrogate: "must not contain half of a surrogate pair"
        }
    }
}

/// Reads JSON (RFC 8259) token by token from memory: no tree, no copies, no recursion without a bound.
struct JSONScanner: ~Copyable {
    /// Objects and arrays inside each other; more is a syntax error.
    static let maximumDepth = 64

    let base: UnsafePointer<UInt8>
    let end: Int
    var position = 0
    var depth = 0
    private var scratch: UnsafeMutablePointer<UInt8>?
    private var scratchCapacity = 0

    /// The raw text between the quotes of a string.
    struct RawString {
        var start: Int
        var end: Int
        var hasEscapes: Bool
        var hasHighBit: Bool
    }

    /// A number as it is written.
    struct Number {
        var start: Int
        var end: Int
        var negative = false
        /// Digits before the point; meaningful unless `overflow`.
        var magnitude: UInt64 = 0
        var overflow = false
        var isInteger = true
    }

    init(base: UnsafePointer<UInt8>, count: Int) {
        self.base = base
        self.end = count
    }

    deinit { scratch?.deallocate() }

    /// The next byte that is not white space, not consumed; 0 at the end.
    @inline(__always)
    mutating func peek() -> UInt8 {
        while position < end {
            let byte = base[position]
            if byte > 0x20 { return byte }
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte == 0 ? 1 : byte }
            position &+= 1
        }
        return 0
    }

    @inline(__always)
    mutating func expect(_ byte: UInt8, _ message: StaticString) throws(SyntaxProblem) {
        guard peek() == byte else { throw SyntaxProblem(offset: position, message: message) }
        position &+= 1
    }

    @inline(__always)
    mutating func enter() throws(SyntaxProblem) {
        depth &+= 1
        guard depth <= Self.maximumDepth else {
            throw SyntaxProblem(offset: position, message: "is nested deeper than 64 levels")
        }
    }

    /// After a member or element: true when another follows. Consumes the comma or the closing byte.
    @inline(__always)
    mutating func another(closing: UInt8) throws(SyntaxProblem) -> Bool {
        let byte = peek()
        if byte == UInt8(ascii: ",") {
            position &+= 1
            return true
        }
        guard byte == closing else {
            throw SyntaxProblem(offset: position, message: "is not valid JSON: expected a comma or the end")
        }
        position &+= 1
        depth &-= 1
        return false
    }

    /// A string; its opening quote must be next.
    @inline(__always)
    mutating func string() throws(SyntaxProblem) -> RawString {
        try expect(UInt8(ascii: "\""), "is not valid JSON: expected a string")
        let start = position
        var highBit = false
        position = ByteText.nextSpecial(base, from: position, to: end, sawHighBit: &highBit)
        if position < end, base[position] == UInt8(ascii: "\"") {
            position &+= 1
            return RawString(start: start, end: position &- 1, hasEscapes: false, hasHighBit: highBit)
        }
        return try longString(start: start, highBit: highBit)
    }

    private mutating func longString(start: Int, highBit: Bool) throws(SyntaxProblem) -> RawString {
        var highBit = highBit
        while position < end {
            switch base[position] {
            case UInt8(ascii: "\""):
                position += 1
                return RawString(start: start, end: position - 1, hasEscapes: true, hasHighBit: highBit)
            case UInt8(ascii: "\\"): position += 2
            default: throw SyntaxProblem(offset: position, message: "is not valid JSON: a control character in a string")
            }
            guard position < end else { break }
            position = ByteText.nextSpecial(base, from: position, to: end, sawHighBit: &highBit)
        }
        throw SyntaxProblem(offset: end, message: "is not valid JSON: a string does not end")
    }

    /// The content of a string, valid until the next call. Escapes are resolved into a scratch buffer; without any, it is the input.
    @inline(__always)
    mutating func content(
        of raw: RawString,
        problem: inout StringProblem
    ) throws(SyntaxProblem) -> UnsafeBufferPointer<UInt8> {
        if raw.hasHighBit, !ByteText.isUTF8(base + raw.start, raw.end &- raw.start) { problem = .invalidUTF8 }
        if !raw.hasEscapes { return UnsafeBufferPointer(start: base + raw.start, count: raw.end &- raw.start) }
        return try unescaped(raw, problem: &problem)
    }

    private mutating func unescaped(
        _ raw: RawString,
        problem: inout StringProblem
    ) throws(SyntaxProblem) -> UnsafeBufferPointer<UInt8> {
        let needed = raw.end - raw.start
        let out: UnsafeMutablePointer<UInt8>
        if let scratch, scratchCapacity >= needed {
            out = scratch
        } else {
            scratch?.deallocate()
            out = .allocate(capacity: needed)
            scratch = out
            scratchCapacity = needed
        }
        var from = raw.start
        var count = 0
        while from < raw.end {
            guard base[from] == UInt8(ascii: "\\") else {
                out[count] = base[from]
                count &+= 1
                from &+= 1
                continue
            }
            let escape = base[from + 1]
            from += 2
            if escape == UInt8(ascii: "u") {
                let scalar = try unicodeEscape(&from, end: raw.end, problem: &problem)
                // Three bytes at most for six of input, and four for twelve: the buffer is always long enough.
                for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    out[count] = byte
                    count += 1
                }
                continue
            }
            guard let byte = Self.simpleEscape(escape) else {
                throw SyntaxProblem(offset: from - 2, message: "is not valid JSON: an unknown escape in a string")
            }
            out[count] = byte
            count += 1
        }
        return UnsafeBufferPointer(start: out, count: count)
    }

    private static func simpleEscape(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): byte
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        default: nil
        }
    }

    private func unicodeEscape(
        _ from: inout Int,
        end: Int,
        problem: inout StringProblem
    ) throws(SyntaxProblem) -> Unicode.Scalar {
        let first = try hex4(&from, end: end)
        if first == 0 { problem = .nul }
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, from + 1 < end, base[from] == UInt8(ascii: "\\"), base[from + 1] == UInt8(ascii: "u") else {
            problem = .loneSurrogate
            return "\u{FFFD}"
        }
        var next = from + 2
        let second = try hex4(&next, end: end)
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else {
            problem = .loneSurrogate
            return "\u{FFFD}"
        }
        from = next
        return scalar
    }

    private func hex4(_ from: inout Int, end: Int) throws(SyntaxProblem) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard from < end, let digit = ByteText.hexDigit(base[from]) else {
                throw SyntaxProblem(offset: from, message: "is not valid JSON: \\u needs four hex digits")
            }
            value = value << 4 | UInt32(digit)
            from += 1
        }
        return value
    }

    /// A number by JSON's grammar: no leading zeros, no bare point.
    mutating func number() throws(SyntaxProblem) -> Number {
        var number = Number(start: position, end: position)
        if base[position] == UInt8(ascii: "-") {
            number.negative = true
            position &+= 1
        }
        let digits = position
        while position < end {
            let digit = base[position] &- 48
            guard digit <= 9 else { break }
            let (product, high) = number.magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
            number.magnitude = sum
            number.overflow = number.overflow || high || carry
            position &+= 1
        }
        guard position > digits, base[digits] != 48 || position == digits + 1 else {
            throw SyntaxProblem(offset: digits, message: "is not valid JSON: expected a value")
        }
        if position < end, base[position] == UInt8(ascii: ".") {
            number.isInteger = false
            position += 1
            try digitRun()
        }
        if position < end, base[position] | 0x20 == UInt8(ascii: "e") {
            number.isInteger = false
            position += 1
            if position < end, base[position] == UInt8(ascii: "+") || base[position] == UInt8(ascii: "-") { position += 1 }
            try digitRun()
        }
        number.end = position
        return number
    }

    private mutating func digitRun() throws(SyntaxProblem) {
        let start = position
        while position < end, base[position] &- 48 <= 9 { position += 1 }
        guard position > start else { throw SyntaxProblem(offset: position, message: "is not valid JSON: a number lacks digits") }
    }

    /// `true`, `false` or `null`.
    mutating func literal(_ text: StaticString) throws(SyntaxProblem) {
        let length = text.utf8CodeUnitCount
        guard end - position >= length else {
            throw SyntaxProblem(offset: position, message: "is not valid JSON: expected a value")
        }
        for index in 0..<length where base[position + index] != text.utf8Start[index] {
            throw SyntaxProblem(offset: position, message: "is not valid JSON: expected a value")
        }
        position += length
    }

    /// Steps over a value of any kind.
    mutating func skipValue() throws(SyntaxProblem) {
        switch peek() {
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "{"):
            position += 1
            try enter()
            if peek() == UInt8(ascii: "}") {
                position += 1
                depth -= 1
                return
            }
            repeat {
                _ = peek()
                _ = try string()
                try expect(UInt8(ascii: ":"), "is not valid JSON: expected a colon")
                try skipValue()
            } while try another(closing: UInt8(ascii: "}"))
        case UInt8(ascii: "["):
            position += 1
            try enter()
            if peek() == UInt8(ascii: "]") {
                position += 1
                depth -= 1
                return
            }
            repeat { try skipValue() } while try another(closing: UInt8(ascii: "]"))
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        case UInt8(ascii: "-"), 48...57: _ = try number()
        default: throw SyntaxProblem(offset: position, message: "is not valid JSON: expected a value")
        }
    }
}
