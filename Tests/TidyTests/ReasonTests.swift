import Testing

/// Values of `error.code`: what services throw, and what the protos declare as `reasons` for the OpenAPI page.
struct ReasonTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    /// What is thrown and never reaches a caller.
    private static let unseen: [String: String] = [
        "LEDGER_TOO_SHORT": "the writer loads more and tries again",
        "DATABASE_RIGHTS": "ends a program at its start",
        "NO_HABIT": "commands of habits are applied to habits only",
        "OPERATION_CONFLICT": "one operation id with two requests: the services that call never do that",
        "PRINCIPAL_NOT_SEALED": "between services: the gateway answers UNAVAILABLE",
        "SEALED_FOR_ANOTHER_METHOD": "between services: the gateway answers UNAVAILABLE",
        "KEY_CONFLICT": "blob keys are made by the services",
        "METHOD_NOT_ALLOWED": "of no operation: there is none",
        "NOT_A_MEMBER": "part of the outcome of a snap", "ALREADY_POSTED": "part of the outcome of a snap, and declared by media",
    ]

    /// The page's own list: what the gateway and the runtime refuse.
    private static let common = "Services/Gateway/Transcoding/ErrorReasons.swift"

    private func words(_ text: String, in pattern: Regex<(Substring, Substring)>) -> [(word: String, place: String.Index)] {
        text.matches(of: pattern).map { (String($0.1), $0.range.lowerBound) }
    }

    private func line(_ place: String.Index, _ text: String) -> Int { text.utf8[..<place].count { $0 == 10 } + 1 }

    /// Reasons that errors are made with in a file.
    private func thrown(_ file: SourceFile) -> [(word: String, place: String.Index)] {
        guard file.text.utf8.count < 200_000, file.text.contains("ServiceError") else { return [] }
        let direct = words(file.text, in: /ServiceError\(\s*\.\w+,\s*"([A-Z][A-Z0-9_]+)"/)
        return direct + words(file.text, in: /[Rr]efusal\(\s*"([A-Z][A-Z0-9_]+)"/)
    }

    private func declared(_ proto: String) -> [(word: String, place: String.Index)] {
        lists(proto).flatMap { list in list.words.map { ($0, list.place) } }
    }

    private func lists(_ proto: String) -> [(words: [String], place: String.Index)] {
        proto.matches(of: /reasons:\s*\[([^\]]*)\]/).map { list in
            (list.1.matches(of: /"([A-Z][A-Z0-9_]+)"/).map { String($0.1) }, list.range.lowerBound)
        }
    }

    private var commonReasons: Set<String> {
        let text = tree.text(Self.common) ?? ""
        let lists = text.split(separator: "\nextension Route ").first.map(String.init) ?? ""
        return Set(words(lists, in: /"([A-Z][A-Z0-9_]+)"/).map(\.word))
    }

    /// A package may have several files.
    private func protos(of service: String) -> [SourceFile] {
        tree.files(below: "Proto/streaksnap/\(service.lowercased())/", ending: ".proto")
    }

    private func declared(by service: String) -> [String] { protos(of: service).flatMap { declared($0.text).map(\.word) } }

    @Test func `every reason a service throws is declared by one of its methods`() {
        var violations: [Violation] = []
        var seen = 0
        for service in tree.services where service != "StreakSnap" {
            let known = Set(declared(by: service)).union(commonReasons).union(["NOT_FOUND"])
            for file in tree.swift(below: "Services/\(service)/") where !file.path.contains("/Commands/") {
                for (word, place) in thrown(file) {
                    seen += 1
                    guard !known.contains(word), Self.unseen[word] == nil else { continue }
                    violations.append(
                        Violation(path: file.path, line: line(place, file.text), problem: "\(word) is in no method's reasons")
                    )
                }
            }
        }
        #expect(seen > 50)
        expectNone(violations, "Clients learn each error.code from the protos (option `reasons`), or from \(Self.common).")
    }

    @Test func `every reason Shared throws is declared somewhere`() {
        var known = commonReasons
        for service in tree.services { known.formUnion(declared(by: service)) }
        let violations = tree.swift(below: "Shared/").flatMap { file in
            thrown(file).filter { !known.contains($0.word) && Self.unseen[$0.word] == nil }.map {
                Violation(path: file.path, line: line($0.place, file.text), problem: "\($0.word) is in no service's reasons")
            }
        }
        expectNone(violations, "Clients learn each error.code from the protos (option `reasons`), or from \(Self.common).")
    }

    @Test func `every reason has a meaning on the page of the API, and no other has`() throws {
        let path = "Services/Gateway/Pages/Files/errors.json"
        let text = try #require(tree.text(path))
        let meanings = text.matches(of: /"([A-Z][A-Z0-9_]+)": \{"status": [45][0-9]{2}, "meaning": "[A-Z`][^"]{8,}\."\}/)
        let explained = meanings.map { String($0.1) }
        #expect(explained == Set(explained).sorted() && explained.count > 150, "sorted, each once, with a sentence")
        let known = tree.services.reduce(commonReasons) { $0.union(declared(by: $1)) }.union(["METHOD_NOT_ALLOWED"])
        let missing = known.subtracting(explained).sorted()
        #expect(missing.isEmpty, "\(path) does not say what they mean: \(missing)")
        let unknown = Set(explained).subtracting(known).sorted()
        #expect(unknown.isEmpty, "\(path) explains what nothing answers: \(unknown)")
    }

    @Test func `every declared reason is thrown somewhere, once in its list`() {
        let sources = tree.swift(below: "Services/", "Shared/").filter { $0.path != Self.common }
        // Some are sent by one service to another, which answers with them.
        let literals = Set(sources.flatMap { words($0.text, in: /"([A-Z][A-Z0-9_]+)"/).map(\.word) })
        var violations: [Violation] = []
        for service in tree.services {
            for file in protos(of: service) {
                for list in lists(file.text) {
                    let line = line(list.place, file.text)
                    violations += list.words.filter { !literals.contains($0) }.map {
                        Violation(path: file.path, line: line, problem: "nothing throws \($0)")
                    }
                    let extra = commonReasons.subtracting(["NOT_FOUND"]).intersection(list.words)
                    if Set(list.words).count != list.words.count || !extra.isEmpty {
                        violations.append(
                            Violation(path: file.path, line: line, problem: "names a reason twice, or one that every method has")
                        )
                    }
                }
            }
        }
        violations += commonReasons.subtracting(literals).map {
            Violation(path: Self.common, line: 1, problem: "nothing throws \($0)")
        }
        violations += Self.unseen.keys.filter { !literals.contains($0) }.map {
            Violation(path: "Tests/TidyTests/ReasonTests.swift", line: 1, problem: "nothing throws \($0)")
        }
        expectNone(violations, "Reasons that nothing throws mislead clients.")
    }

    @Test func `the walk sees what it should`() {
        let text = "reasons: [\"A_B\", \"CD\"]\nthrow ServiceError(\n    .internal,\n    \"X_Y\",\n"
        #expect(declared(text).map(\.word) == ["A_B", "CD"])
        #expect(thrown(SourceFile(path: "x.swift", text: text, swift: SwiftText(text))).map(\.word) == ["X_Y"])
    }
}
