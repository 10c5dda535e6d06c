/// A function with its length.
struct FunctionSpan: Sendable, Equatable {
    let name: String
    let line: Int
    let lines: Int
}

/// Something declared `public`.
struct PublicDeclaration: Sendable, Equatable {
    /// `now`, `init(from`, `==`.
    let name: String
    let line: Int
    let isDocumented: Bool
    /// What the types around it conform to, as written in their heads; also the type itself, which may be a protocol that is extended.
    let conformances: [String]
}

/// A function or computed property that other modules may use.
struct SharedMember: Sendable, Equatable {
    let name: String
    /// From its head to the end of its body.
    let lines: ClosedRange<Int>
    /// Whether it stands outside any type.
    let isFree: Bool
}

/// A place in code where a name stands, and is neither declared nor the label of an argument.
struct NameUse: Sendable, Equatable {
    let name: String
    let line: Int
    /// Whether it stands after a dot.
    let isMember: Bool
}

extension SwiftText {
    /// Every function, initializer and subscript that has a body.
    var functions: [FunctionSpan] {
        ["func", "init", "deinit", "subscript"].flatMap { keyword in
            offsets(of: keyword).compactMap { start -> FunctionSpan? in
                let isCall = start > 0 && [UInt8(ascii: "."), UInt8(ascii: "`")].contains(code[start - 1])
                guard !isCall, let body = body(from: start + keyword.utf8.count), let end = closing(body) else { return nil }
                let name = keyword == "func" ? word(from: start + 5) : keyword
                return FunctionSpan(name: name, line: line(at: start), lines: line(at: end) - line(at: start) + 1)
            }
        }.sorted { $0.line < $1.line }
    }

    /// Everything declared `public`, without imports and extensions.
    var publicDeclarations: [PublicDeclaration] {
        let lines = codeLines
        let scopes = typeScopes
        return lines.indices.compactMap { index in
            guard let name = Self.publicName(lines[index]) else { return nil }
            let around = scopes.filter { $0.lines.contains(index + 1) && $0.lines.lowerBound < index + 1 }
            return PublicDeclaration(
                name: name,
                line: index + 1,
                isDocumented: isDocumented(index, lines),
                conformances: around.flatMap { $0.conformances + ($0.keyword == "extension" ? [$0.name] : []) }
            )
        }
    }

    /// Every function and computed property that is declared `public` or `package`; no operators.
    var sharedMembers: [SharedMember] {
        let lines = codeLines
        var found: [Int: SharedMember] = [:]
        for start in (offsets(of: "func") + offsets(of: "var")).sorted() {
            let line = line(at: start)
            let words = Self.words(lines[line - 1])
            guard found[line] == nil, words.first == "public" || words.first == "package",
                let name = Self.declaredName(words)?.filter({ $0 != "`" }), name.utf8.allSatisfy(\.isName),
                let body = body(from: start + 4), let end = closing(body)
            else { continue }
            // A value before the body: it is stored.
            if code[start] == UInt8(ascii: "v"), code[start..<body].contains(UInt8(ascii: "=")) { continue }
            let isFree = !lines[line - 1].hasPrefix(" ")
            found[line] = SharedMember(name: name, lines: line...self.line(at: end), isFree: isFree)
        }
        return found.values.sorted { $0.lines.lowerBound < $1.lines.lowerBound }
    }

    /// Where these names are used.
    func uses(of names: Set<String>) -> [NameUse] {
        var uses: [NameUse] = []
        var (position, previous) = (0, "")
        while position < code.count {
            guard code[position].isName else {
                position += 1
                continue
            }
            let end = code[position...].firstIndex { !$0.isName } ?? code.count
            let name = String(decoding: code[position..<end], as: UTF8.self)
            let isMember = position > 0 && code[position - 1] == UInt8(ascii: ".")
            let isLabel = end < code.count && code[end] == UInt8(ascii: ":")
            let isDeclared = ["func", "var", "let", "case"].contains(previous)
            if names.contains(name), isMember || (!isLabel && !isDeclared) {
                uses.append(NameUse(name: name, line: line(at: position), isMember: isMember))
            }
            (position, previous) = (end, name)
        }
        return uses
    }

    /// What a protocol asks for, by the protocol's name.
    var protocolRequirements: [String: Set<String>] {
        let lines = codeLines
        var found: [String: Set<String>] = [:]
        for scope in typeScopes where scope.keyword == "protocol" {
            for index in lines.indices where scope.lines.contains(index + 1) && index + 1 > scope.lines.lowerBound {
                if let name = Self.declaredName(Self.words(lines[index])) { found[scope.name, default: []].insert(name) }
            }
        }
        return found
    }

    /// What protocols refine, by the protocol's name.
    var protocolParents: [String: [String]] {
        Dictionary(typeScopes.filter { $0.keyword == "protocol" }.map { ($0.name, $0.conformances) }, uniquingKeysWith: +)
    }

    private struct TypeScope {
        let keyword: String
        let name: String
        let conformances: [String]
        let lines: ClosedRange<Int>
    }

    private var typeScopes: [TypeScope] {
        ["struct", "class", "enum", "actor", "protocol", "extension"].flatMap { keyword in
            offsets(of: keyword).compactMap { start -> TypeScope? in
                guard start == 0 || code[start - 1] != UInt8(ascii: "."), let open = body(from: start + keyword.utf8.count),
                    let end = closing(open)
                else { return nil }
                let head = String(decoding: code[(start + keyword.utf8.count)..<open], as: UTF8.self)
                let parts = head.split(separator: ":", maxSplits: 1)
                guard let name = parts.first?.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }).first else {
                    return nil
                }
                let list = parts.count > 1 ? parts[1].components(before: " where ") : ""
                let conformances = list.split(separator: ",").map { $0.filter { !$0.isWhitespace } }
                return TypeScope(
                    keyword: keyword,
                    name: String(name),
                    conformances: conformances,
                    lines: line(at: start)...line(at: end)
                )
            }
        }
    }

    /// The `{` of a declaration whose head goes on at `start`; nil when it has none.
    private func body(from start: Int) -> Int? {
        var depth = 0
        var index = start
        while index < code.count {
            switch code[index] {
            case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"):
                depth -= 1
                if depth < 0 { return nil }
            case UInt8(ascii: "{") where depth == 0: return index
            case UInt8(ascii: "}") where depth == 0, UInt8(ascii: ";") where depth == 0: return nil
            case UInt8(ascii: "\n") where depth == 0 && !goesOn(index): return nil
            default: break
            }
            index += 1
        }
        return nil
    }

    /// Whether a head goes on after this line break.
    private func goesOn(_ lineBreak: Int) -> Bool {
        let before = code[..<lineBreak].last { !$0.isSpace } ?? 0
        if [UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: ">")].contains(before) { return true }
        guard let next = code[lineBreak...].firstIndex(where: { !$0.isSpace }) else { return false }
        if [UInt8(ascii: "{"), UInt8(ascii: ":"), UInt8(ascii: "-")].contains(code[next]) { return true }
        return ["where", "async", "throws", "rethrows"].contains(word(from: next))
    }

    /// The `}` that belongs to a `{`.
    private func closing(_ open: Int) -> Int? {
        var depth = 0
        for index in open..<code.count {
            if code[index] == UInt8(ascii: "{") { depth += 1 }
            if code[index] == UInt8(ascii: "}") {
                depth -= 1
                if depth == 0 { return index }
            }
        }
        return nil
    }

    private func word(from start: Int) -> String {
        guard let first = code[start...].firstIndex(where: { !$0.isSpace }) else { return "" }
        return String(decoding: code[first...].prefix { $0.isName || $0 == UInt8(ascii: "`") }, as: UTF8.self)
    }

    /// Whether the lines above hold a doc comment.
    private func isDocumented(_ index: Int, _ lines: [String]) -> Bool {
        var above = index - 1
        while above >= 0 {
            let text = rawLine(above).drop { $0 == " " }
            if text.hasPrefix("///") || text.hasSuffix("*/") { return true }
            guard text.hasPrefix("@") || text.hasPrefix("#if") else { return false }
            above -= 1
        }
        return false
    }

    /// The words of a line up to what ends a declaration's head.
    private static func words(_ line: String) -> [Substring] {
        line.split(separator: " ").drop { $0.hasPrefix("@") }.map { $0 }
    }

    private static let modifiers: Set<Substring> = [
        "public", "package", "open", "static", "final", "mutating", "nonmutating", "indirect", "convenience", "required",
        "override",
        "nonisolated",
        "lazy", "weak", "prefix", "postfix", "isolated", "private(set)", "internal(set)", "fileprivate(set)", "package(set)",
        "consuming",
        "borrowing", "class",
    ]

    private static func publicName(_ line: String) -> String? {
        let words = words(line)
        guard words.first == "public" || words.first == "open", words.count > 1, words[1] != "import", words[1] != "extension"
        else {
            return nil
        }
        return declaredName(words)
    }

    private static func declaredName(_ words: [Substring]) -> String? {
        let rest = words.drop { modifiers.contains($0) && !($0 == "class" && words.last == "{") }
        guard let keyword = rest.first else { return nil }
        if keyword.hasPrefix("init") || keyword.hasPrefix("subscript") {
            let head = keyword.prefix { $0 != ":" && $0 != ")" }
            return String(
                head.replacing("?", with: "").replacing("<", with: "(").split(separator: "(").prefix(2).joined(separator: "(")
            )
        }
        let keywords = [
            "func", "var", "let", "struct", "class", "enum", "protocol", "actor", "typealias", "associatedtype", "case", "macro",
            "operator",
        ]
        guard keywords.contains(String(keyword)), let name = rest.dropFirst().first else { return nil }
        let plain = name.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "`" }
        return plain.isEmpty ? String(name.prefix { $0 != "(" && $0 != "<" || name.first == $0 }) : String(plain)
    }
}

extension StringProtocol {
    /// What comes before a text; all of it when the text does not occur.
    func components(before text: String) -> String {
        firstRange(of: text).map { String(self[..<$0.lowerBound]) } ?? String(self)
    }

    private func firstRange(of text: String) -> Range<Index>? { ranges(of: text).first }
}
