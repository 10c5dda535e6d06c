internal import Wire

/// Base64 in short lines.
struct Base64Lines {
    private var rest: Substring

    init(_ bytes: [UInt8]) { rest = Base64.encode(bytes)[...] }

    mutating func next() -> String? {
        guard !rest.isEmpty else { return nil }
        defer { rest = rest.dropFirst(120) }
        return String(rest.prefix(120))
    }
}
