/// Reads server-sent events (WHATWG HTML §9.2) from bytes that come in pieces.
struct EventParser {
    /// One event as it came.
    struct Raw: Hashable, Sendable {
        var id: String
        var name: String
        var data: String
    }

    /// Longer lines end the stream: all input is bounded.
    static let longestLine = 1 << 20

    /// What the server asks a client to wait before it connects again.
    private(set) var retry: Duration?
    private(set) var isTooLong = false
    private var line: [UInt8] = []
    private var skipsLineFeed = false
    private var id = ""
    private var name = ""
    private var data: [String] = []

    /// Events that are whole with these bytes. What has no empty line after it yet waits, and is dropped with the parser.
    mutating func read(_ bytes: some Sequence<UInt8>) -> [Raw] {
        var events: [Raw] = []
        for byte in bytes {
            if skipsLineFeed, byte == 10 {
                skipsLineFeed = false
                continue
            }
            skipsLineFeed = byte == 13
            guard byte == 10 || byte == 13 else {
                if line.count < Self.longestLine { line.append(byte) } else { isTooLong = true }
                continue
            }
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    private mutating func endLine() -> Raw? {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return endEvent() }
        let text = String(decoding: line, as: UTF8.self)
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count > 1 ? parts[1] : ""
        if value.first == " " { value = value.dropFirst() }
        switch parts[0] {
        case "id": if !value.contains("\0") { id = String(value) }
        case "event": name = String(value)
        case "data": data.append(String(value))
        case "retry": if let milliseconds = Int64(value), milliseconds >= 0 { retry = .milliseconds(min(milliseconds, 600_000)) }
        default: break
        }
        return nil
    }

    private mutating func endEvent() -> Raw? {
        defer { (name, data) = ("", []) }
        guard !data.isEmpty else { return nil }
        return Raw(id: id, name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
    }
}
