import Testing

/// Rules for the tests themselves.
struct TestRuleTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    private var files: [SourceFile] { tree.swift(below: "Tests/") }

    @Test func `a test is named by the sentence that it shows`() {
        let violations = files.flatMap { file in
            Self.misnamed(file.text, file.swift).map {
                Violation(path: file.path, line: $0, problem: "@Test func `what it shows`(), without another name")
            }
        }
        expectNone(violations, "One style: a sentence in backticks, which reports and --filter show as it is written.")
    }

    @Test func `what every test needs is there once`() {
        let violations = files.filter { !$0.path.hasPrefix("Tests/Support/") }.flatMap { file in
            file.swift.codeLines.enumerated().compactMap { index, line -> Violation? in
                let isWait = line.contains("func eventually(")
                // The clock that only a test moves is TestSupport's.
                let isClock = line.firstMatch(of: /(class|struct|actor) \w+: (Kernel\.)?Clock\b/) != nil
                guard isWait || isClock else { return nil }
                return Violation(path: file.path, line: index + 1, problem: "makes its own")
            }
        }
        expectNone(violations, "Use TestSupport's eventually and ManualClock.")
    }

    @Test func `a test that differs by depth is listed in the page about tests`() throws {
        let page = try #require(tree.text("deploy/docs/testing.md"))
        let violations = files.filter {
            $0.swift.offsets(of: "TestDepth").count > 0 && $0.path != "Tests/Support/TestDepth.swift"
        }
        .compactMap { file -> Violation? in
            page.contains("`\(file.path)`") || Self.isAboutDepth(file)
                ? nil : Violation(path: file.path, line: 1, problem: "is not in deploy/docs/testing.md")
        }
        expectNone(violations, "The page says what a full run adds, and why a quick one shows the same behaviour.")
    }

    @Test func `a suite that a turn names is there`() throws {
        let turns = Self.turns(try #require(tree.text("deploy/turns.sh")))
        #expect(Set(turns.keys) == ["computing", "faults", "timing", "own", "moved", "examples"])
        let package = try #require(tree.text("Package.swift"))
        // Those of services are named after their folders.
        let targets = Set(files.map { String($0.path.split(separator: "/")[1]) })
            .union(package.matches(of: /tests\(\s*"(\w+)"/).map { String($0.1) })
        let (all, endToEnd) = (Self.types(files), Self.types(tree.swift(below: "Tests/EndToEndTests/")))
        let violations = turns.flatMap { turn, names in
            names.filter { name in
                // Those two name suites of the end-to-end tests, without “Tests”; the others name targets or suites, or how these end.
                if turn == "own" || turn == "moved" { return !endToEnd.contains(name + "Tests") }
                return !targets.union(all).contains { $0.hasSuffix(name) }
            }
            .map { Violation(path: "deploy/turns.sh", line: 1, problem: "\(turn) names \($0), which is no suite") }
        }
        expectNone(violations, "One that has another name now would run in another turn.")
        #expect(Self.turns("  local own='A|Bc'\n  own+='|D'\n  local x=1 y\n  turn a 'E'\n") == ["own": ["A", "Bc", "D"]])
    }

    /// The lists of suites in deploy/turns.sh, by the name of the variable.
    private static func turns(_ script: String) -> [String: [String]] {
        script.matches(of: /(?m)^ +(?:local )?(\w+)\+?='([A-Za-z|]+)'$/).reduce(into: [:]) { turns, match in
            turns[String(match.1), default: []] += match.2.split(separator: "|").map(String.init)
        }
    }

    /// The types that files declare.
    private static func types(_ files: [SourceFile]) -> Set<String> {
        Set(
            files.flatMap { file in
                ["struct", "class", "enum", "actor"].flatMap { keyword in
                    file.swift.offsets(of: keyword).map { start in
                        let rest = file.swift.code[(start + keyword.utf8.count)...].drop { $0.isSpace }
                        return String(decoding: rest.prefix { $0.isName }, as: UTF8.self)
                    }
                }
            }
        )
    }

    @Test func `finds what it forbids, and nothing else`() {
        let quotes = "\""
        let text = """
            @Test func `a sentence`() {}
            @Test(arguments: [")", "x"]) func `another (sentence)`(text: String) {}
            @Test(.serialized) private func `a third`() {}
            @Test func camelCase() {}
            @Test(\(quotes)A title\(quotes)) func `and a sentence`() {}
            @Test(\(quotes)A title\(quotes), arguments: 0..<3) func `named`(seed: Int) {}
            // @Test func comment() {}
            """
        #expect(Self.misnamed(text, SwiftText(text)) == [4, 5, 6])
    }

    /// The lines of tests whose names are no sentences in backticks, or that have a second name.
    private static func misnamed(_ text: String, _ swift: SwiftText) -> [Int] {
        let source = Array(text.utf8)
        return swift.offsets(of: "@Test").filter { start in
            var position = start + 5
            var hasTitle = false
            if position < source.count, source[position] == UInt8(ascii: "(") {
                // Texts are blank in `code`, so every parenthesis counts.
                hasTitle =
                    source[(position + 1)...].first { ![UInt8(ascii: " "), UInt8(ascii: "\n")].contains($0) }
                    == UInt8(ascii: "\"")
                var depth = 0
                repeat {
                    if swift.code[position] == UInt8(ascii: "(") { depth += 1 }
                    if swift.code[position] == UInt8(ascii: ")") { depth -= 1 }
                    position += 1
                } while depth > 0 && position < source.count
            }
            let rest = String(decoding: swift.code[position..<min(position + 200, source.count)], as: UTF8.self)
            return hasTitle || rest.prefixMatch(of: /\s*((private|fileprivate)\s+)?func\s+`/) == nil
        }.map { swift.line(at: $0) }
    }

    private static func isAboutDepth(_ file: SourceFile) -> Bool { file.path.hasPrefix("Tests/TidyTests/") }
}
