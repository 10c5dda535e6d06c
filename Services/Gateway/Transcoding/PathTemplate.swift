/// A path template of `google.api.http`:
///
///     Template = "/" Segments [ ":" verb ];  Segments = Segment { "/" Segment };
///     Segment  = "*" | "**" | LITERAL | Variable;  Variable = "{" FieldPath [ "=" Segments ] "}";
///
/// `**` only as the last segment. Beyond the grammar's own use, `{action=accept}` binds the literal it names to the field.
struct PathTemplate: Hashable, Sendable {
    enum Segment: Hashable, Sendable {
        case literal([UInt8])
        case any
        /// The rest of the path, also none of it.
        case rest
    }

    struct Variable: Hashable, Sendable {
        /// `streak_id`, `place.id`.
        var fieldPath: String
        /// The segments whose text it binds; the last one may be `rest`.
        var segments: Range<Int>
    }

    static let maximumSegments = 32

    var segments: [Segment] = []
    var variables: [Variable] = []

    /// - Throws: `DescriptorError` without an element, saying what is wrong with the template.
    init(_ text: String) throws(DescriptorError) {
        func fail(_ problem: String) -> DescriptorError {
            DescriptorError(element: "", problem: "path template \(ByteText.shown(text.utf8)) \(problem)")
        }
        guard text.utf8.first == UInt8(ascii: "/"), text.utf8.count <= 1_000 else { throw fail("must begin with / and be short") }
        for part in try Self.split(text.dropFirst(), orElse: fail("has braces that do not match")) {
            guard part.hasPrefix("{") else {
                try add(part, orElse: fail("has a segment that is not valid"))
                continue
            }
            guard part.hasSuffix("}") else { throw fail("has text after a variable") }
            let inside = part.dropFirst().dropLast()
            let pair = inside.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = pair.first, Self.isFieldPath(name) else { throw fail("has a variable without a valid name") }
            let start = segments.count
            for segment in (pair.count == 2 ? pair[1] : "*").split(separator: "/", omittingEmptySubsequences: false) {
                try add(segment, orElse: fail("has a variable that is not valid"))
            }
            variables.append(Variable(fieldPath: String(name), segments: start..<segments.count))
        }
        guard segments.count <= Self.maximumSegments else { throw fail("has more than \(Self.maximumSegments) segments") }
        guard !segments.dropLast().contains(.rest) else { throw fail("has ** before its last segment") }
        guard Set(variables.map(\.fieldPath)).count == variables.count else { throw fail("binds a field twice") }
    }

    private mutating func add(_ segment: Substring, orElse error: @autoclosure () -> DescriptorError) throws(DescriptorError) {
        switch segment {
        case "*": segments.append(.any)
        case "**": segments.append(.rest)
        default:
            let bytes = Array(segment.utf8)
            let decoded = bytes.withUnsafeBufferPointer { ByteText.percentDecoded($0, plusIsSpace: false) }
            guard let decoded, !decoded.isEmpty, !segment.contains(where: { "{}*?#\0".contains($0) }) else { throw error() }
            segments.append(.literal(decoded))
        }
    }

    /// Splits at slashes outside braces.
    private static func split(
        _ text: Substring,
        orElse error: @autoclosure () -> DescriptorError
    ) throws(DescriptorError) -> [Substring] {
        var parts: [Substring] = []
        var start = text.startIndex
        var inside = false
        for index in text.indices {
            switch text[index] {
            case "{" where !inside: inside = true
            case "}" where inside: inside = false
            case "{", "}": throw error()
            case "/" where !inside:
                parts.append(text[start..<index])
                start = text.index(after: index)
            default: break
            }
        }
        guard !inside else { throw error() }
        return parts + [text[start...]]
    }

    private static func isFieldPath(_ text: Substring) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty
                && part.utf8.allSatisfy {
                    (97...122).contains($0) || (48...57).contains($0) || $0 == 95 || (65...90).contains($0)
                }
        }
    }
}

/// The text that a request's path gives to the variables of a template, in the order of the template; percent-decoded.
public struct PathValues: Hashable, Sendable {
    /// One value for each variable.
    public let values: [[UInt8]]

    /// No variables.
    public static let none = PathValues(values: [])
}
