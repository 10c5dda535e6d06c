import Testing

/// Ids in code and documents lead somewhere: SD-4 to a rule of the product, D4 to a decision.
struct CitationTests {
    private static let rulePage = "deploy/docs/rules.md"
    private static let decisionPage = "deploy/docs/decisions.md"
    /// What has no ids of ours.
    private static let except = [
        // Generated from protos, which are read.
        "Proto/Generated/", "Shared/StreakSnapClient/Generated/",
        // A kitchen has rules of its own.
        "Tests/TranscodingTests/Fixtures/",
        // Code points, some of which look like decisions.
        "Services/Auth/Domain/Confusables.swift",
        // Examples.
        "Tests/TidyTests/CitationTests.swift",
    ]
    private let tree: SourceTree
    private let citing: [SourceFile]

    init() throws {
        tree = try SourceTree.loaded.get()
        citing = tree.files.filter { file in file.path != Self.rulePage && !Self.except.contains { file.path.hasPrefix($0) } }
    }

    @Test func `every rule and decision that is cited is written down`() throws {
        let rules = Self.rules(in: try #require(tree.text(Self.rulePage)))
        let decisions = Self.decisions(in: try #require(tree.text(Self.decisionPage)))
        let known = Set(rules.map(\.id) + decisions)
        let violations = citing.flatMap { Self.unknown(in: $0, known: known) }
        expectNone(violations, "What is cited is in \(Self.rulePage) or \(Self.decisionPage).")
    }

    @Test func `every rule that is written down is cited, and has one line`() throws {
        let cited = Set(citing.flatMap { Self.ids(in: $0.text).map(\.id) })
        let rules = Self.rules(in: try #require(tree.text(Self.rulePage)))
        var seen: Set<String> = []
        var violations: [Violation] = []
        for rule in rules {
            func note(_ problem: String) { violations.append(Violation(path: Self.rulePage, line: rule.line, problem: problem)) }
            if !cited.contains(rule.id) { note("nothing cites \(rule.id)") }
            if !seen.insert(rule.id).inserted { note("\(rule.id) has a line already") }
        }
        expectNone(violations, "The rules are those that are cited.")
        #expect(rules.count > 100)
    }

    @Test func `finds ids, and nothing that only looks like one`() {
        let file = SourceFile(
            path: "a.py",
            text: """
                'Both (MS-2,
                RC-2/RC-3 … SD-4), D6.'
                UTF-8 SHA-256 x-SD-4 SD-4x D02 D123 MD-x PH- 3D4 SD-0 ID D a_D4 “HA-19”
                """,
            swift: SwiftText("")
        )
        #expect(Self.ids(in: file.text).map(\.id) == ["MS-2", "RC-2", "RC-3", "SD-4", "D6", "HA-19"])
        #expect(
            Self.unknown(in: file, known: ["MS-2", "RC-3", "SD-4"]).map(\.description) == [
                "a.py:2: cites RC-2, which is not written down", "a.py:2: cites D6, which is not written down",
                "a.py:3: cites HA-19, which is not written down",
            ]
        )
        let page = "# Rules\nNot SD-1: prose.\n\n## SD\n- SD-2: a late one (SD-3).\n- A list: SD-4.\n- SD-5: more.\n"
        #expect(Self.rules(in: page).map(\.id) == ["SD-2", "SD-5"])
        #expect(Self.rules(in: page).map(\.line) == [5, 7])
        #expect(Self.decisions(in: "# D1\n## D2 One\n### D3 Two\n## Dates\n## D12 Once (D4)\n") == ["D2", "D12"])
    }

    /// What a file cites that is not known.
    private static func unknown(in file: SourceFile, known: Set<String>) -> [Violation] {
        ids(in: file.text).filter { !known.contains($0.id) }.map {
            Violation(path: file.path, line: $0.line, problem: "cites \($0.id), which is not written down")
        }
    }

    /// The ids that lines of a list begin with, followed by a colon.
    private static func rules(in page: String) -> [(id: String, line: Int)] {
        page.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            guard line.hasPrefix("- "), let colon = line.firstIndex(of: ":") else { return nil }
            let id = String(line[..<colon].dropFirst(2))
            return isID(Array(id.utf8)[...]) ? (id: id, line: index + 1) : nil
        }
    }

    /// The ids that headings of the second level begin with.
    private static func decisions(in page: String) -> [String] {
        page.split(separator: "\n").filter { $0.hasPrefix("## ") }.map { String($0.dropFirst(3).prefix { $0 != " " }) }.filter {
            isID(Array($0.utf8)[...])
        }
    }

    /// The words of a text that are ids, with their lines.
    private static func ids(in text: String) -> [(id: String, line: Int)] {
        let bytes = Array(text.utf8)
        var found: [(id: String, line: Int)] = []
        var (line, start) = (1, 0)
        for end in 0...bytes.count {
            let next = end < bytes.count ? bytes[end] : UInt8(ascii: " ")
            if next == UInt8(ascii: "-") || next.isName && next < 128 { continue }
            if isID(bytes[start..<end]) { found.append((String(decoding: bytes[start..<end], as: UTF8.self), line)) }
            if next == UInt8(ascii: "\n") { line += 1 }
            start = end + 1
        }
        return found
    }

    /// Two capitals, a hyphen and a number, or a D and a number; of one or two digits.
    private static func isID(_ word: ArraySlice<UInt8>) -> Bool {
        let capitals = word.prefix { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        let rest = word.dropFirst(capitals.count)
        let number: ArraySlice<UInt8>
        if capitals.count == 2, rest.first == UInt8(ascii: "-") {
            number = rest.dropFirst()
        } else if capitals.elementsEqual([UInt8(ascii: "D")]) {
            number = rest
        } else {
            return false
        }
        return (1...2).contains(number.count) && number.first != UInt8(ascii: "0")
            && number.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
