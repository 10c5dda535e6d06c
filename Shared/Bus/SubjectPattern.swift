internal import Glibc

/// A subject with wildcards, as the broker reads it: `*` matches one token, `>` at the end one or more.
struct SubjectPattern: Sendable {
    // Wildcards are stored as bytes that no subject has, because a `*` within a token is not a wildcard.
    private static let anyToken = CChar(1)
    private static let anyRest = CChar(2)
    private static let dot = CChar(46)

    private let pattern: [CChar]
    /// How many bytes come before the first wildcard.
    private let literalCount: Int

    /// - Parameter subject: one that can be subscribed to (`Subject.isSubscribable`).
    init(_ subject: String) {
        let tokens = subject.split(separator: ".", omittingEmptySubsequences: false)
        let steps = tokens.enumerated().map { index, token -> [CChar] in
            switch token {
            case "*": [Self.anyToken]
            case ">" where index == tokens.count - 1: [Self.anyRest]
            default: token.utf8.map { CChar(bitPattern: $0) }
            }
        }
        pattern = Array(steps.joined(separator: [Self.dot]))
        literalCount = pattern.firstIndex { $0 == Self.anyToken || $0 == Self.anyRest } ?? pattern.count
    }

    /// Whether the pattern matches `subject`.
    ///
    /// - Parameter subject: Without wildcards, terminated by a zero byte.
    func matches(_ subject: UnsafePointer<CChar>) -> Bool {
        pattern.withUnsafeBufferPointer { pattern in
            guard let start = pattern.baseAddress, strncmp(subject, start, literalCount) == 0 else { return false }
            var next = subject + literalCount
            for byte in pattern[literalCount...] {
                if byte == Self.anyToken || byte == Self.anyRest {
                    guard next.pointee != 0, next.pointee != Self.dot else { return false }
                    if byte == Self.anyRest { return true }
                    while next.pointee != 0, next.pointee != Self.dot { next += 1 }
                } else {
                    guard next.pointee == byte else { return false }
                    next += 1
                }
            }
            return next.pointee == 0
        }
    }
}
