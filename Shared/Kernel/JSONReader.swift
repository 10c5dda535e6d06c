/// Why a JSON document cannot be read any further.
public struct JSONProblem: Error, Hashable, Sendable {
    /// Where, as a path: `data.completions[3].date`; empty for the document itself.
    public var path: String
    /// What is wrong.
    public var message: String
    /// The line, from 1.
    public var line: Int
    /// The byte in that line, from 1.
    public var column: Int

    /// A problem at a place.
    public init(path: String, message: String, line: Int, column: Int) {
        (self.path, self.message, self.line, self.column) = (path, message, line, column)
    }
}

/// Reads a JSON document (RFC 8259) value by value, so that no tree of it is ever in memory.
///
/// Every limit is checked while reading. A name that comes twice in an object, NUL, half a surrogate pair and bytes that are not UTF-8 are
/// refused. A value that the caller does not read is skipped by the next `nextName` or `nextElement`, and checked all the same.
///
/// ```swift
/// var reader = JSONReader(bytes)
/// try reader.beginObject()
/// while let name = try reader.nextName() {
///     if name == "version" { version = try reader.string() }
/// }
/// try reader.finish()
/// ```
public struct JSONReader: Sendable {
    /// What is read at most.
    public struct Limits: Hashable, Sendable {
        /// Arrays and objects inside each other.
        public var depth: Int
        /// Members of one object.
        public var members: Int
        /// Bytes of one string, without escapes.
        public var stringBytes: Int
        /// Values of the whole document.
        public var values: Int

        /// Limits; the standard ones fit documents of millions of small records.
        public init(depth: Int = 16, members: Int = 100, stringBytes: Int = 64 << 10, values: Int = 20_000_000) {
            (self.depth, self.members, self.stringBytes, self.values) = (depth, members, stringBytes, values)
        }
    }

    /// What a value is.
    public enum Kind: String, Hashable, Sendable {
        /// `{…}`
        case object
        /// `[…]`
        case array
        /// `"…"`
        case string
        /// `-1.5e3`
        case number
        /// `true` or `false`
        case bool
        /// `null`
        case null
    }

    private struct Frame {
        var isObject: Bool
        var name = ""
        var seen: [String] = []
        var index = -1
    }

    private let bytes: [UInt8]
    private let limits: Limits
    private var position = 0
    private var frames: [Frame] = []
    private var values = 0
    /// A value is due: of the document, a member or an element.
    private var isValueDue = true

    /// A reader of one document.
    public init(_ bytes: [UInt8], limits: Limits = Limits()) {
        self.bytes = bytes
        self.limits = limits
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// The path of the value that is read: `data.completions[3].date`.
    public var path: String {
        frames.reduce(into: "") { path, frame in
            if frame.isObject {
                if !frame.name.isEmpty { path += (path.isEmpty ? "" : ".") + frame.name }
            } else if frame.index >= 0 {
                path += "[\(frame.index)]"
            }
        }
    }

    /// What the next value is, without reading it.
    public mutating func kind() throws(JSONProblem) -> Kind {
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return .number
        case nil: throw problem("ends where a value is expected")
        default: throw problem("has something that is no JSON value")
        }
    }

    /// Begins an object; its members follow with `nextName`.
    public mutating func beginObject() throws(JSONProblem) {
        try expect(.object)
        try open(Frame(isObject: true))
    }

    /// The name of the next member; nil at the end of the object.
    public mutating func nextName() throws(JSONProblem) -> String? {
        guard let last = frames.indices.last, frames[last].isObject else { throw problem("is no object") }
        guard try advance(in: last, end: UInt8(ascii: "}")) else { return nil }
        guard peek == UInt8(ascii: "\"") else { throw problem("needs a name in quotes") }
        let name = try text()
        skipSpace()
        guard take(UInt8(ascii: ":")) else { throw problem("needs a colon after “\(name.prefix(50))”") }
        guard frames[last].seen.count < limits.members else { throw problem("has more than \(limits.members) members") }
        guard !frames[last].seen.contains(name) else { throw problem("has “\(name.prefix(50))” twice") }
        frames[last].seen.append(name)
        frames[last].name = name
        isValueDue = true
        return name
    }

    /// Begins an array; its elements follow with `nextElement`.
    public mutating func beginArray() throws(JSONProblem) {
        try expect(.array)
        try open(Frame(isObject: false))
    }

    /// Whether another element follows; false at the end of the array.
    public mutating func nextElement() throws(JSONProblem) -> Bool {
        guard let last = frames.indices.last, !frames[last].isObject else { throw problem("is no array") }
        guard try advance(in: last, end: UInt8(ascii: "]")) else { return false }
        frames[last].index += 1
        isValueDue = true
        return true
    }

    /// A string.
    public mutating func string() throws(JSONProblem) -> String {
        try expect(.string)
        try count()
        return try text()
    }

    /// A number; one beyond the range of `Double` is infinite.
    public mutating func number() throws(JSONProblem) -> Double {
        try expect(.number)
        try count()
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        guard position - start <= 64, let value = Double(String(decoding: bytes[start..<position], as: UTF8.self)) else {
            throw problem("has a number of more than 64 characters")
        }
        return value
    }

    /// `true` or `false`.
    public mutating func bool() throws(JSONProblem) -> Bool {
        try expect(.bool)
        try count()
        let value = peek == UInt8(ascii: "t")
        try word(value ? "true" : "false")
        return value
    }

    /// `null`.
    public mutating func null() throws(JSONProblem) {
        try expect(.null)
        try count()
        try word("null")
    }

    /// Reads a value of any kind and drops it.
    public mutating func skip() throws(JSONProblem) {
        let outer = frames.count
        try skipOne()
        while frames.count > outer {
            let isObject = frames[frames.count - 1].isObject
            // Not the methods of the same name for callers: those would skip what is due recursively.
            if isObject ? try nextName() != nil : try nextElement() { try skipOne() }
        }
    }

    /// Ends the document.
    public mutating func finish() throws(JSONProblem) {
        if isValueDue { try skip() }
        skipSpace()
        guard position == bytes.count, frames.isEmpty else { throw problem("goes on after its end") }
    }

    /// A problem of the caller's at the present place.
    public func problem(_ message: String) -> JSONProblem {
        let before = bytes.prefix(position)
        let start = before.lastIndex(of: 10).map { $0 + 1 } ?? 0
        let line = before.count { $0 == 10 } + 1
        return JSONProblem(path: path, message: message, line: line, column: position - start + 1)
    }
}

extension JSONReader {
    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 32 || byte == 10 || byte == 13 || byte == 9 { position += 1 }
    }

    private mutating func expect(_ wanted: Kind) throws(JSONProblem) {
        let found = try kind()
        guard found == wanted else { throw problem("must be a \(wanted.rawValue), not a \(found.rawValue)") }
        isValueDue = false
    }

    private mutating func count() throws(JSONProblem) {
        values += 1
        guard values <= limits.values else { throw problem("has more than \(limits.values) values in all") }
    }

    private mutating func open(_ frame: Frame) throws(JSONProblem) {
        try count()
        guard frames.count < limits.depth else { throw problem("is deeper than \(limits.depth) levels") }
        position += 1
        frames.append(frame)
    }

    /// Moves to the next member or element; false at the end, which is read.
    private mutating func advance(in last: Int, end: UInt8) throws(JSONProblem) -> Bool {
        if isValueDue { try skip() }
        skipSpace()
        let isFirst = frames[last].isObject ? frames[last].seen.isEmpty : frames[last].index < 0
        if take(end) {
            frames.removeLast()
            return false
        }
        if !isFirst {
            guard take(UInt8(ascii: ",")) else { throw problem(peek == nil ? "ends too early" : "needs a comma or its end") }
            skipSpace()
        }
        return true
    }

    private mutating func skipOne() throws(JSONProblem) {
        switch try kind() {
        case .object: try beginObject()
        case .array: try beginArray()
        case .string: _ = try string()
        case .number: _ = try number()
        case .bool: _ = try bool()
        case .null: try null()
        }
    }

    private mutating func digits() throws(JSONProblem) {
        let start = position
        while let byte = peek, (48...57).contains(byte) { position += 1 }
        guard position > start else { throw problem("has a number without digits") }
    }

    private mutating func word(_ word: String) throws(JSONProblem) {
        guard bytes[position...].starts(with: word.utf8) else { throw problem("has something that is no JSON value") }
        position += word.utf8.count
    }

    /// The string that begins with the quote at the present position.
    private mutating func text() throws(JSONProblem) -> String {
        position += 1
        let start = position
        while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 32 { position += 1 }
        guard position - start <= limits.stringBytes else { throw tooLong }
        guard peek != UInt8(ascii: "\"") else {
            let end = position
            position += 1
            return try valid(bytes[start..<end])
        }
        var content = Array(bytes[start..<position])
        while true {
            guard let byte = peek else { throw problem("ends inside a string") }
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return try valid(content[...])
            case UInt8(ascii: "\\"): content += Array(String(try escaped()).utf8)
            case 0..<32: throw problem("has a control character in a string that is not escaped")
            default: content.append(byte)
            }
            guard content.count <= limits.stringBytes else { throw tooLong }
        }
    }

    private var tooLong: JSONProblem { problem("has a string of more than \(limits.stringBytes) bytes") }

    private func valid(_ content: ArraySlice<UInt8>) throws(JSONProblem) -> String {
        guard let text = String(validating: content, as: UTF8.self) else { throw problem("has bytes that are not UTF-8") }
        return text
    }

    /// What stands after a backslash.
    private mutating func escaped() throws(JSONProblem) -> Unicode.Scalar {
        guard let byte = peek else { throw problem("ends inside a string") }
        position += 1
        switch byte {
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "u"):
            let unit = try hex()
            if (0xD800..<0xDC00).contains(unit), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
                let low = try hex()
                if (0xDC00..<0xE000).contains(low),
                    let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
                {
                    return scalar
                }
            }
            guard unit != 0 else { throw problem("must not contain NUL") }
            guard let scalar = Unicode.Scalar(unit) else { throw problem("has half of a surrogate pair") }
            return scalar
        default: throw problem("has an unknown escape in a string")
        }
    }

    private mutating func hex() throws(JSONProblem) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 128 else {
                throw problem("has an escape without four hexadecimal digits")
            }
            value = value << 4 + UInt32(digit)
            position += 1
        }
        return value
    }
}
