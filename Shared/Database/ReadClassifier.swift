/// Decides from its text whether a statement only reads, so that it may share a sync with other reads and be repeated when a
/// connection dies. It is cautious: it accepts a plain `SELECT`, also behind a `WITH`, that locks nothing and calls only functions known to have no
/// effects.
enum ReadClassifier {
    static func isRead(_ text: String) -> Bool {
        var words = Words(text)
        guard let first = words.next()?.text, first == "select" || first == "with" else { return false }
        var last = first
        while let word = words.next() {
            if refused.contains(word.text) { return false }
            // `AS name (a, b)` names columns.
            if word.isCall, !pure.contains(word.text), last != "as" { return false }
            last = word.text
        }
        return words.isPlain
    }

    /// Locks rows, writes a table, or changes data in a `WITH`.
    private static let refused: Set<String> = [
        "for", "into", "insert", "update", "delete", "merge", "call", "do", "lock", "nextval", "setval",
    ]

    /// Functions without effects, and words that a parenthesis may follow.
    private static let pure: Set<String> = [
        "abs", "all", "and", "any", "array", "array_agg", "array_length", "as", "avg", "between", "bool_and", "bool_or", "by",
        "cardinality",
        "case", "cast", "ceil", "coalesce", "concat", "count", "date_trunc", "dense_rank", "distinct", "else", "encode", "exists",
        "extract",
        "filter", "first_value", "floor", "from", "greatest", "group", "having", "in", "interval", "is", "join", "json_agg",
        "json_build_object", "jsonb_agg", "jsonb_build_object", "lag", "last_value", "lateral", "lead", "least", "left", "length",
        "like",
        "limit", "lower", "ltrim", "max", "min", "mod", "not", "now", "nullif", "numeric", "offset", "on", "or", "over",
        "partition",
        "position", "rank", "replace", "right", "round", "row", "row_number", "rtrim", "select", "sign", "similarity",
        "starts_with",
        "string_agg", "strpos", "substr", "substring", "sum", "then", "to_char", "trim", "union", "unnest", "upper", "using",
        "values", "when",
        "where", "with", "within",
    ]

    private struct Words {
        private let bytes: [UInt8]
        private var position = 0
        /// False for text that this reader does not understand, such as an unclosed quote or a second statement.
        private(set) var isPlain = true

        init(_ text: String) { bytes = Array(text.utf8) }

        mutating func next() -> (text: String, isCall: Bool)? {
            while position < bytes.count {
                switch bytes[position] {
                case UInt8(ascii: "'"), UInt8(ascii: "\""): skipQuoted()
                case UInt8(ascii: ";"):
                    isPlain = false
                    position += 1
                case UInt8(ascii: "-") where peek(1) == UInt8(ascii: "-"), UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"),
                    UInt8(ascii: "\\"):
                    isPlain = false
                    position += 1
                case UInt8(ascii: "$"):
                    // A bind; anything else opens a dollar quote.
                    if !(peek(1).map { $0 >= 48 && $0 <= 57 } ?? false) { isPlain = false }
                    position += 1
                case let byte where Self.isWord(byte): return word()
                default: position += 1
                }
            }
            return nil
        }

        private func peek(_ distance: Int) -> UInt8? { position + distance < bytes.count ? bytes[position + distance] : nil }

        private mutating func skipQuoted() {
            let quote = bytes[position]
            position += 1
            while position < bytes.count, bytes[position] != quote {
                if bytes[position] == UInt8(ascii: "\\") { isPlain = false }
                position += 1
            }
            if position >= bytes.count { isPlain = false }
            position += 1
            // A quoted name may be a function's.
            if quote == UInt8(ascii: "\""), nextSolid() == UInt8(ascii: "(") { isPlain = false }
        }

        private mutating func word() -> (text: String, isCall: Bool) {
            let start = position
            while position < bytes.count, Self.isWord(bytes[position]) { position += 1 }
            return (String(decoding: bytes[start..<position], as: UTF8.self).lowercased(), nextSolid() == UInt8(ascii: "("))
        }

        private func nextSolid() -> UInt8? { bytes[position...].first { $0 != 32 && $0 != 10 && $0 != 13 && $0 != 9 } }

        private static func isWord(_ byte: UInt8) -> Bool {
            (byte >= 97 && byte <= 122) || (byte >= 65 && byte <= 90) || (byte >= 48 && byte <= 57) || byte == 95 || byte >= 128
        }
    }
}
