/// Reads a POSIX extended regular expression (see `Pattern` for what is supported).
struct PatternParser {
    private let text: [Unicode.Scalar]
    private var position = 0
    private var depth = 0

    private static let mostGroups = 20
    private static let mostRepeats = 128

    init(_ source: String) { text = Array(source.unicodeScalars) }

    mutating func parse() throws(Pattern.SyntaxError) -> PatternNode {
        if peek == "^" { position += 1 }
        let node = try choice()
        guard position == text.count else { throw error("unexpected \(text[position])") }
        return node
    }

    private var peek: Unicode.Scalar? { position < text.count ? text[position] : nil }

    private func error(_ message: String) -> Pattern.SyntaxError {
        Pattern.SyntaxError(description: "\(message) at character \(position + 1)")
    }

    private mutating func choice() throws(Pattern.SyntaxError) -> PatternNode {
        var branches = [try sequence()]
        while peek == "|" {
            position += 1
            branches.append(try sequence())
        }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func sequence() throws(Pattern.SyntaxError) -> PatternNode {
        var nodes: [PatternNode] = []
        while let next = peek, next != "|", next != ")" {
            if next == "$", position == text.count - 1 {
                position += 1
                break
            }
            nodes.append(try repeated(try atom()))
        }
        return .sequence(nodes)
    }

    private mutating func atom() throws(Pattern.SyntaxError) -> PatternNode {
        guard let next = peek else { throw error("an expression is missing") }
        position += 1
        switch next {
        case "(":
            depth += 1
            guard depth <= Self.mostGroups else { throw error("too many nested groups") }
            let node = try choice()
            guard peek == ")" else { throw error(") is missing") }
            position += 1
            depth -= 1
            return node
        case "[": return .scalars(try bracket())
        case ".": return .scalars(ScalarClass(ranges: [], isNegated: true))
        case "\\":
            guard let escaped = peek, !escaped.properties.isAlphabetic, escaped.properties.numericType == nil else {
                throw error("\\ must come before a special character")
            }
            position += 1
            return .scalars(ScalarClass(ranges: [escaped.value...escaped.value]))
        case "*", "+", "?", "{", "^", "$": throw error("\(next) must be escaped here")
        default: return .scalars(ScalarClass(ranges: [next.value...next.value]))
        }
    }

    private mutating func repeated(_ atom: PatternNode) throws(Pattern.SyntaxError) -> PatternNode {
        var node = atom
        while let next = peek {
            switch next {
            case "*": node = .optional(.oneOrMore(node))
            case "+": node = .oneOrMore(node)
            case "?": node = .optional(node)
            case "{":
                node = try counted(node)
                continue
            default: return node
            }
            position += 1
        }
        return node
    }

    private mutating func counted(_ node: PatternNode) throws(Pattern.SyntaxError) -> PatternNode {
        position += 1
        guard let least = number() else { throw error("a number is missing") }
        var most: Int? = least
        if peek == "," {
            position += 1
            most = number()
        }
        guard peek == "}" else { throw error("} is missing") }
        position += 1
        guard least <= Self.mostRepeats, (most ?? least) <= Self.mostRepeats, (most ?? least) >= least else {
            throw error("bad repeat count")
        }
        var nodes = [PatternNode](repeating: node, count: least)
        if let most {
            nodes += [PatternNode](repeating: .optional(node), count: most - least)
        } else if least == 0 {
            nodes.append(.optional(.oneOrMore(node)))
        } else {
            nodes[least - 1] = .oneOrMore(node)
        }
        return .sequence(nodes)
    }

    private mutating func number() -> Int? {
        var value: Int?
        while let digit = peek.flatMap({ $0.properties.numericType == .decimal ? Int(String($0)) : nil }), (value ?? 0) < 1_000 {
            value = (value ?? 0) * 10 + digit
            position += 1
        }
        return value
    }

    private mutating func bracket() throws(Pattern.SyntaxError) -> ScalarClass {
        var scalars = ScalarClass(ranges: [])
        if peek == "^" {
            scalars.isNegated = true
            position += 1
        }
        var isFirst = true
        while let next = peek, next != "]" || isFirst {
            isFirst = false
            position += 1
            if next == "[", peek == ":" {
                scalars.ranges += try namedClass()
            } else if peek == "-", position + 1 < text.count, text[position + 1] != "]" {
                let upper = text[position + 1]
                guard upper.value >= next.value else { throw error("the range is reversed") }
                scalars.ranges.append(next.value...upper.value)
                position += 2
            } else {
                scalars.ranges.append(next.value...next.value)
            }
        }
        guard peek == "]" else { throw error("] is missing") }
        position += 1
        return scalars
    }

    private mutating func namedClass() throws(Pattern.SyntaxError) -> [ClosedRange<UInt32>] {
        var name = ""
        position += 1
        while let next = peek, next != ":" {
            name.unicodeScalars.append(next)
            position += 1
        }
        guard position + 1 < text.count, text[position + 1] == "]" else { throw error(":] is missing") }
        position += 2
        let upper: ClosedRange<UInt32> = 65...90
        let lower: ClosedRange<UInt32> = 97...122
        let digit: ClosedRange<UInt32> = 48...57
        switch name {
        case "alpha": return [upper, lower]
        case "digit": return [digit]
        case "alnum": return [upper, lower, digit]
        case "upper": return [upper]
        case "lower": return [lower]
        case "xdigit": return [digit, 65...70, 97...102]
        case "space": return [9...13, 32...32]
        case "punct": return [33...47, 58...64, 91...96, 123...126]
        default: throw error("there is no class [:\(name):]")
        }
    }
}
