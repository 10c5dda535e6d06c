/// Splits a multipart/form-data body (RFC 7578, RFC 2046 §5.1) as it arrives. No I/O: bytes in, events out.
///
/// Everything is bounded: the header of a part (8 KiB), the number of parts (600), what lies before the first boundary and is
/// skipped (8 KiB).
struct MultipartParser {
    /// What the bytes mean.
    enum Event: Equatable {
        /// A part begins; names are as the client sent them.
        case begin(name: String, fileName: String?, contentType: String?)
        /// Bytes of the part.
        case data(ArraySlice<UInt8>)
        /// The part is complete.
        case end
    }

    /// The body is no multipart body, or ends too early.
    struct Malformed: Error, Equatable {
        let problem: String
    }

    private enum State {
        case preamble
        case afterBoundary
        case header
        case body
        case epilogue
    }

    private static let headerLimit = 8 << 10
    private static let preambleLimit = 8 << 10
    private static let partLimit = 600

    /// CR LF "--" boundary: what ends a part.
    private let delimiter: [UInt8]
    private var pending: [UInt8]
    private var state = State.preamble
    private var parts = 0
    /// Bytes before the first boundary.
    private var skipped = 0

    /// A parser for a body with this boundary (1 to 70 characters).
    init?(boundary: String) {
        guard (1...70).contains(boundary.utf8.count) else { return nil }
        self.delimiter = Array("\r\n--\(boundary)".utf8)
        // The first boundary has no line break before it: pretend it has.
        self.pending = [13, 10]
    }

    /// The boundary of a content type; nil when it is not multipart/form-data.
    static func boundary(ofContentType value: String) -> String? {
        let parameters = HeaderParameters(value)
        guard parameters.value.lowercased() == "multipart/form-data" else { return nil }
        return parameters["boundary"]
    }

    /// Whether the closing boundary was seen.
    var isComplete: Bool {
        if case .epilogue = state { return true }
        return false
    }

    /// Takes the next bytes of the body.
    mutating func consume(_ bytes: some Sequence<UInt8>) throws(Malformed) -> [Event] {
        if case .epilogue = state { return [] }
        pending.append(contentsOf: bytes)
        var events: [Event] = []
        var position = 0
        while try step(&position, &events) {}
        pending.removeFirst(position)
        return events
    }

    /// - Returns: false when more bytes are needed.
    private mutating func step(_ position: inout Int, _ events: inout [Event]) throws(Malformed) -> Bool {
        switch state {
        case .preamble:
            let start = find(from: position)
            let end = start ?? max(position, pending.count - delimiter.count)
            skipped += end - position
            guard skipped <= Self.preambleLimit else { throw Malformed(problem: "its first boundary does not come") }
            guard let start else {
                position = end
                return false
            }
            position = start + delimiter.count
            state = .afterBoundary
        case .afterBoundary:
            return try afterBoundary(&position)
        case .header:
            let end = findHeaderEnd(from: position)
            guard (end ?? pending.count) - position <= Self.headerLimit else {
                throw Malformed(problem: "a part's header is too long")
            }
            guard let end else { return false }
            events.append(try begin(pending[position..<end]))
            position = end + 4
            state = .body
        case .body:
            return body(&position, &events)
        case .epilogue:
            position = pending.count
            return false
        }
        return true
    }

    private mutating func afterBoundary(_ position: inout Int) throws(Malformed) -> Bool {
        // Padding after a boundary is allowed (RFC 2046), a line of it.
        var next = position
        while next < pending.count, pending[next] == 32 || pending[next] == 9 { next += 1 }
        guard next - position <= 100 else { throw Malformed(problem: "a boundary line is too long") }
        guard next + 1 < pending.count else { return false }
        switch (pending[next], pending[next + 1]) {
        case (45, 45):
            state = .epilogue
        case (13, 10):
            parts += 1
            guard parts <= Self.partLimit else { throw Malformed(problem: "there are too many parts") }
            // A part without headers begins with the empty line itself, so the break stays for the header's end to match.
            state = .header
            position = next
            return true
        default:
            throw Malformed(problem: "a boundary is followed by something else than a line break")
        }
        position = next + 2
        return true
    }

    private mutating func body(_ position: inout Int, _ events: inout [Event]) -> Bool {
        if let end = find(from: position) {
            if end > position { events.append(.data(pending[position..<end])) }
            events.append(.end)
            position = end + delimiter.count
            state = .afterBoundary
            return true
        }
        // The last bytes may be the beginning of a boundary.
        let safe = pending.count - delimiter.count
        if safe > position {
            events.append(.data(pending[position..<safe]))
            position = safe
        }
        return false
    }

    private func begin(_ header: ArraySlice<UInt8>) throws(Malformed) -> Event {
        var name: String?
        var fileName: String?
        var contentType: String?
        for line in header.split(whereSeparator: { $0 == 13 || $0 == 10 }) {
            // Old clients write file names in Latin-1. They are hints, so what is not UTF-8 in them is shown as a replacement character.
            let text = String(decoding: line, as: UTF8.self)
            guard let colon = text.firstIndex(of: ":") else { throw Malformed(problem: "a part's header is not readable") }
            let value = text[text.index(after: colon)...].drop { $0 == " " }
            switch text[..<colon].lowercased() {
            case "content-disposition":
                let parameters = HeaderParameters(value)
                name = parameters["name"]
                fileName = parameters["filename"]
            case "content-type": contentType = String(value)
            default: break
            }
        }
        guard let name, !name.isEmpty, name.utf8.count <= 200 else { throw Malformed(problem: "a part has no name") }
        return .begin(name: name, fileName: fileName, contentType: contentType)
    }

    /// Where the delimiter begins, at or after `start`.
    private func find(from start: Int) -> Int? {
        let count = delimiter.count
        return pending.withUnsafeBufferPointer { bytes in
            var index = start
            while index + count <= bytes.count {
                // Only a CR can begin a delimiter; photos hold few of them.
                if bytes[index] == 13 {
                    var length = 1
                    while length < count, bytes[index + length] == delimiter[length] { length += 1 }
                    if length == count { return index }
                }
                index += 1
            }
            return nil
        }
    }

    private func findHeaderEnd(from start: Int) -> Int? {
        guard pending.count >= start + 4 else { return nil }
        for index in start...(pending.count - 4)
        where pending[index] == 13 && pending[index + 1] == 10 && pending[index + 2] == 13 && pending[index + 3] == 10 {
            return index
        }
        return nil
    }
}

/// `value; key=token; key="quoted \"text\""` of a header.
struct HeaderParameters {
    let value: String
    private var parameters: [String: String] = [:]

    init(_ text: some StringProtocol) {
        var rest = Substring(text)
        let end = rest.firstIndex(of: ";") ?? rest.endIndex
        self.value = String(rest[..<end]).trimmed()
        rest = rest[end...].dropFirst()
        while !rest.isEmpty {
            guard let equals = rest.firstIndex(of: "=") else { break }
            let key = String(rest[..<equals]).trimmed().lowercased()
            rest = rest[rest.index(after: equals)...]
            if rest.first == "\"" {
                parameters[key] = Self.quoted(&rest)
            } else {
                let end = rest.firstIndex(of: ";") ?? rest.endIndex
                parameters[key] = String(rest[..<end]).trimmed()
                rest = rest[end...]
            }
            rest = rest.drop { $0 == ";" || $0 == " " }
        }
    }

    subscript(key: String) -> String? { parameters[key] }

    private static func quoted(_ rest: inout Substring) -> String {
        var result = ""
        rest = rest.dropFirst()
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let next = rest.first, next == "\"" || next == "\\" {
                result.append(next)
                rest = rest.dropFirst()
            } else {
                result.append(character)
            }
        }
        return result
    }
}

extension String {
    fileprivate func trimmed() -> String {
        var text = Substring(self)
        while let first = text.first, first == " " || first == "\t" { text = text.dropFirst() }
        while let last = text.last, last == " " || last == "\t" { text = text.dropLast() }
        return String(text)
    }
}
