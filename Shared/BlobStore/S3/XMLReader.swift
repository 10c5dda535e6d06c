/// Reads the simple XML of S3's replies: elements and their text. Attributes, comments and prefixes of names are skipped. A
/// document type is refused, so no entity can be declared.
struct XMLReader {
    /// The next part of the document.
    enum Event: Equatable {
        /// An element begins.
        case begin(String)
        /// The text directly in an element up to its next tag, entities resolved.
        case text(String)
        /// The element ends.
        case end
    }

    /// The bytes are not such XML.
    struct Malformed: Error {}

    /// Deeper than any reply.
    private static let deepest = 16

    private let bytes: [UInt8]
    private var position = 0
    private var open: [String] = []
    private var endsAtOnce = false

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Every element without inner elements, with its path, `ListBucketResult/Contents/Key`, and its text; and the end of every
    /// other element, with nil.
    static func read(_ bytes: [UInt8], _ body: (_ path: String, _ text: String?) throws -> Void) throws {
        var reader = XMLReader(bytes)
        var path: [String] = []
        var text = ""
        var isLeaf = false
        while let event = try reader.next() {
            switch event {
            case .begin(let name):
                path.append(name)
                (text, isLeaf) = ("", true)
            case .text(let more): text += more
            case .end:
                try body(path.joined(separator: "/"), isLeaf ? text : nil)
                path.removeLast()
                (text, isLeaf) = ("", false)
            }
        }
    }

    /// Nil at the end of the document.
    mutating func next() throws -> Event? {
        if endsAtOnce {
            endsAtOnce = false
            open.removeLast()
            return .end
        }
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "<") else {
                let text = try characters()
                if !open.isEmpty { return .text(text) }
                guard text.allSatisfy(\.isWhitespace) else { throw Malformed() }
                continue
            }
            if try skip("<?", to: "?>") || skip("<!--", to: "-->") { continue }
            if hasPrefix("<![CDATA[") { return .text(try literal()) }
            return try tag()
        }
        guard open.isEmpty else { throw Malformed() }
        return nil
    }

    private func hasPrefix(_ text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    private mutating func skip(_ start: String, to end: String) throws -> Bool {
        guard hasPrefix(start) else { return false }
        position += start.utf8.count
        _ = try take(to: end)
        return true
    }

    private mutating func literal() throws -> String {
        position += "<![CDATA[".utf8.count
        guard !open.isEmpty else { throw Malformed() }
        return String(decoding: try take(to: "]]>"), as: UTF8.self)
    }

    /// The bytes before `end`, which is skipped.
    private mutating func take(to end: String) throws -> ArraySlice<UInt8> {
        let start = position
        let mark = Array(end.utf8)
        while position + mark.count <= bytes.count {
            if bytes[position] == mark[0], bytes[position...].starts(with: mark) {
                defer { position += mark.count }
                return bytes[start..<position]
            }
            position += 1
        }
        throw Malformed()
    }

    private mutating func tag() throws -> Event {
        position += 1
        let isEnd = position < bytes.count && bytes[position] == UInt8(ascii: "/")
        if isEnd { position += 1 }
        let name = try name()
        let isEmpty = try passAttributes()
        if isEnd {
            guard !isEmpty, open.popLast() == name else { throw Malformed() }
            return .end
        }
        guard open.count < Self.deepest else { throw Malformed() }
        open.append(name)
        endsAtOnce = isEmpty
        return .begin(name)
    }

    /// A name without its prefix.
    private mutating func name() throws -> String {
        let start = position
        while position < bytes.count, Self.isName(bytes[position]) { position += 1 }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let local = name.split(separator: ":", omittingEmptySubsequences: false).last, !local.isEmpty else {
            throw Malformed()
        }
        return String(local)
    }

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...58, 65...90, 97...122, UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), 128...: true
        default: false
        }
    }

    /// - Returns: whether the tag ends with a slash.
    private mutating func passAttributes() throws -> Bool {
        var quote: UInt8?
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                return bytes[position - 2] == UInt8(ascii: "/")
            } else if byte == UInt8(ascii: "<") {
                throw Malformed()
            }
        }
        throw Malformed()
    }

    /// The text up to the next tag.
    private mutating func characters() throws -> String {
        var text: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
            if bytes[position] == UInt8(ascii: "&") {
                position += 1
                text += try Self.entity(String(decoding: try take(to: ";"), as: UTF8.self)).utf8
            } else {
                text.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func entity(_ name: String) throws -> String {
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let number = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
            guard name.hasPrefix("#"), let number, let scalar = Unicode.Scalar(number) else { throw Malformed() }
            return String(Character(scalar))
        }
    }
}
