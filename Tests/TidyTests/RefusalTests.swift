import Testing

/// A refused request is answered with an entry for each bad field (PF-2): what its fields alone say is said of all of them at once.
struct RefusalTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    /// Handlers that refuse a field in `handle` only, and what they need for it beside the request.
    private static let askMore = [
        "ListParkedEvents": "which services run",
        "PlanContribution": "nothing: it has one field that a client sends, and its caller's others are right by then",
        "RepairStreak": "the user's credits, which pay before a token does",
        "StartStreak": "who asks",
    ]

    /// Functions that refuse several fields one after the other, by folder or file, and why.
    private static let oneByOne = [
        "Services/Streaks/Domain/Engine/": "the forms of habits have judged the fields before; the ledger only guards itself",
        "Services/Streaks/HabitSync/": "the refusal of a device's change has the other wrong fields, too (HA-7)",
        "Services/Streaks/Domain/Habits/HabitDetails.swift": "a time and its days are built from what was judged by itself",
        "Services/Streaks/Domain/Habits/HabitSettings.swift":
            "the form has judged the fields before, a device's change is answered with one",
        "Services/Auth/Core/ProfileRules.swift": "an offset is asked about in place of a name, never beside it",
    ]

    /// The fields that these lines refuse by name.
    private static func refused(_ lines: ArraySlice<String>) -> Set<String> {
        Set(lines.flatMap { $0.matches(of: /validation\(field: "([^"]+)"/).map { String($0.1) } })
    }

    private static func name(_ file: SourceFile) -> String {
        file.path.split(separator: "/").last.map { String($0.replacing(".swift", with: "")) } ?? ""
    }

    @Test func `a handler that refuses a field says so when it is asked what is wrong`() {
        let handlers = tree.swift(below: "Services/").filter { $0.path.contains("/Handlers/") }
        let refusing = handlers.filter { !Self.refused($0.lines[...]).isEmpty }
        let silent = refusing.filter { $0.swift.offsets(of: "problems").isEmpty }
        let violations = silent.filter { Self.askMore[Self.name($0)] == nil }
            .map { Violation(path: $0.path, line: 1, problem: "refuses a field and has no problems(of:)") }
        expectNone(violations, "Where another field is bad, too, both are answered.")
        #expect(refusing.count >= 15, "the rule finds the handlers")
        #expect(Set(silent.map(Self.name)) == Set(Self.askMore.keys), "an exception that is none any more")
    }

    @Test func `fields are not refused one after the other`() {
        var functions = 0
        var used: Set<String> = []
        let violations = tree.swift(below: "Services/").flatMap { file in
            let lines = file.lines
            return file.swift.functions.compactMap { function -> Violation? in
                let body = lines[(function.line - 1)..<min(lines.count, function.line - 1 + function.lines)]
                let fields = Self.refused(body)
                functions += fields.isEmpty ? 0 : 1
                guard fields.count > 1, !body.contains(where: { $0.contains("FieldCheck()") }) else { return nil }
                if let exception = Self.oneByOne.keys.first(where: { file.path.hasPrefix($0) }) {
                    used.insert(exception)
                    return nil
                }
                let problem =
                    "\(function.name) refuses \(fields.sorted().joined(separator: ", ")) one by one: collect them in a FieldCheck"
                return Violation(path: file.path, line: function.line, problem: problem)
            }
        }
        expectNone(violations, "One bad field must not hide another.")
        #expect(functions >= 60, "the rule finds the functions")
        #expect(used == Set(Self.oneByOne.keys), "an exception that is none any more")
    }

    @Test func `a list that checks its request checks its place, too`() {
        let lists = tree.swift(below: "Services/").filter { file in
            file.path.contains("/Handlers/") && !file.swift.offsets(of: "Page").isEmpty
        }
        let violations = lists.filter {
            !$0.swift.offsets(of: "problems").isEmpty && $0.swift.offsets(of: "placeProblems").isEmpty
        }
        .map { Violation(path: $0.path, line: 1, problem: "has a problems(of:) without placeProblems") }
        expectNone(violations, "A bad cursor is answered beside other bad fields.")
        #expect(lists.count >= 15, "the rule finds the lists")
    }
}
