/// A POSIX extended regular expression that a whole text must match (`pattern` of the validation options).
///
/// Supported: literals, `.`, bracket expressions with ranges, negation and `[:alpha:]`-like classes, groups, `|`, `*`, `+`, `?`,
/// `{n}`, `{n,}`, `{n,m}`, `\` before a special character; `^` at the start and `$` at the end change nothing. It becomes a
/// position automaton (Glushkov): one step for each character, so no text makes it slow.
public struct Pattern: Sendable {
    /// The expression as written in the proto.
    public let source: String
    private let automaton: Automaton

    /// Why an expression is refused.
    public struct SyntaxError: Error, CustomStringConvertible {
        /// The mistake, for the author of the proto.
        public let description: String
    }

    /// Compiles an expression.
    ///
    /// - Throws: `SyntaxError` for what is not supported, and for more than 128 positions (`[a-z]{200}` has 200: use `max_len`).
    public init(_ source: String) throws(SyntaxError) {
        var parser = PatternParser(source)
        self.source = source
        self.automaton = try Automaton(parser.parse())
    }

    /// Compiles an expression that the generator has checked. One that does not compile would match nothing.
    public init(checked source: String) {
        self.source = source
        self.automaton = (try? Pattern(source))?.automaton ?? .nothing
    }

    /// Whether the whole of `text` matches.
    public func matches(_ text: String) -> Bool { automaton.matches(text) }
}

/// A node of a parsed expression.
indirect enum PatternNode {
    case empty
    case scalars(ScalarClass)
    case sequence([PatternNode])
    case choice([PatternNode])
    case optional(PatternNode)
    case oneOrMore(PatternNode)
}

/// The set of characters that one position accepts.
struct ScalarClass {
    var ranges: [ClosedRange<UInt32>]
    var isNegated = false

    func contains(_ scalar: UInt32) -> Bool { ranges.contains { $0.contains(scalar) } != isNegated }
}

/// The position automaton: a bit per position, one set of bits as the state.
private struct Automaton: Sendable {
    static let mostPositions = 128
    static let nothing = Automaton()

    private var classes: [ScalarClass] = []
    /// Positions that accept an ASCII character, by character.
    private var ascii = [UInt128](repeating: 0, count: 128)
    private var follow: [UInt128] = []
    private var first: UInt128 = 0
    private var last: UInt128 = 0
    private var acceptsEmpty = false

    private init() {}

    init(_ root: PatternNode) throws(Pattern.SyntaxError) {
        let parts = try build(root)
        (first, last, acceptsEmpty) = (parts.first, parts.last, parts.isNullable)
        for (position, scalars) in classes.enumerated() {
            for scalar in UInt32(0)..<128 where scalars.contains(scalar) { ascii[Int(scalar)] |= 1 << UInt128(position) }
        }
    }

    private struct Parts {
        var first: UInt128 = 0
        var last: UInt128 = 0
        var isNullable = true
    }

    private mutating func build(_ node: PatternNode) throws(Pattern.SyntaxError) -> Parts {
        switch node {
        case .empty: return Parts()
        case .scalars(let scalars):
            guard classes.count < Self.mostPositions else { throw .init(description: "too long: more than 128 positions") }
            let bit = UInt128(1) << UInt128(classes.count)
            classes.append(scalars)
            follow.append(0)
            return Parts(first: bit, last: bit, isNullable: false)
        case .sequence(let nodes):
            var whole = Parts()
            for node in nodes {
                let part = try build(node)
                link(whole.last, to: part.first)
                if whole.isNullable { whole.first |= part.first }
                whole.last = part.isNullable ? whole.last | part.last : part.last
                whole.isNullable = whole.isNullable && part.isNullable
            }
            return whole
        case .choice(let nodes):
            var whole = Parts(isNullable: false)
            for node in nodes {
                let part = try build(node)
                whole.first |= part.first
                whole.last |= part.last
                whole.isNullable = whole.isNullable || part.isNullable
            }
            return whole
        case .optional(let node):
            var part = try build(node)
            part.isNullable = true
            return part
        case .oneOrMore(let node):
            let part = try build(node)
            link(part.last, to: part.first)
            return part
        }
    }

    private mutating func link(_ positions: UInt128, to next: UInt128) {
        for position in follow.indices where positions >> UInt128(position) & 1 == 1 { follow[position] |= next }
    }

    func matches(_ text: String) -> Bool {
        var reachable = first
        var current = UInt128(0)
        var isAtStart = true
        for scalar in text.unicodeScalars {
            isAtStart = false
            current = reachable & accepting(scalar.value)
            if current == 0 { return false }
            reachable = 0
            var rest = current
            while rest != 0 {
                reachable |= follow[rest.trailingZeroBitCount]
                rest &= rest &- 1
            }
        }
        return isAtStart ? acceptsEmpty : current & last != 0
    }

    private func accepting(_ scalar: UInt32) -> UInt128 {
        if scalar < 128 { return ascii[Int(scalar)] }
        var positions = UInt128(0)
        for (position, scalars) in classes.enumerated() where scalars.contains(scalar) { positions |= 1 << UInt128(position) }
        return positions
    }
}
