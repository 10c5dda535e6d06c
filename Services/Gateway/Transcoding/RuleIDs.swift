/// Ids of a product's rules, `(SD-2, SD-7)`: comments of protos name them for those who write the service. Who reads the API's description has
/// no list of these rules, so it is made without.
enum RuleIDs {
    private static let words: Set<Substring> = ["to", "and", "…"]

    /// The text without parentheses that hold ids of rules and nothing else, and without the space before them.
    static func removed(from text: String) -> String {
        var (kept, rest) = ("", text[...])
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "(")) {
            let inside = rest[rest.utf8.index(after: open)...]
            guard let close = inside.utf8.firstIndex(of: UInt8(ascii: ")")), areIDs(inside[..<close]) else {
                kept += rest[..<inside.startIndex]
                rest = inside
                continue
            }
            kept += rest[..<open].trimmedAtEnd
            rest = rest[rest.utf8.index(after: close)...]
            // Nothing is before it: then what follows begins the text.
            if kept.isEmpty { rest = rest.drop(while: \.isWhitespace) }
        }
        return kept + rest
    }

    private static func areIDs(_ text: Substring) -> Bool {
        // Most parentheses are none, and are seen so at their third letter.
        guard text.utf8.dropFirst(2).first == UInt8(ascii: "-") else { return false }
        return text.split { $0 == "," || $0.isWhitespace }.allSatisfy { isID($0) || words.contains($0) }
    }

    /// Two capitals and a number below 100: `SHA-1` and `UTC-3` are none.
    private static func isID(_ word: Substring) -> Bool {
        let bytes = Array(word.utf8)
        return (4...5).contains(bytes.count) && bytes[2] == UInt8(ascii: "-") && bytes[..<2].allSatisfy { (65...90).contains($0) }
            && bytes[3...].allSatisfy { (48...57).contains($0) }
    }
}

extension Substring {
    /// Without white space at its end.
    fileprivate var trimmedAtEnd: Substring {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
