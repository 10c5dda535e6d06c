import Testing

/// Cursors of lists are made and read by `CursorScope` (PF-3).
struct CursorTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `a handler that takes a cursor reads it by a scope`() {
        var handlers = 0
        let violations = tree.swift(below: "Services/").flatMap { file -> [Violation] in
            let offsets = file.swift.offsets(of: "request.cursor")
            handlers += offsets.isEmpty ? 0 : 1
            guard file.swift.offsets(of: "CursorScope(").isEmpty else { return [] }
            return offsets.map {
                Violation(path: file.path, line: file.swift.line(at: $0), problem: "reads a cursor without a CursorScope")
            }
        }
        expectNone(violations, "A cursor belongs to a list, a user and filters, and is checked whole.")
        #expect(handlers >= 5, "the rule finds the handlers")
    }

    @Test func `each list's cursors have a name of their own`() {
        var seen: [String: String] = [:]
        var violations: [Violation] = []
        for file in tree.swift(below: "Services/") {
            for offset in file.swift.offsets(of: "CursorScope(") {
                let line = file.swift.line(at: offset)
                let name = file.swift.literals.first { $0.line >= line }?.text ?? ""
                if !name.contains(".") {
                    violations.append(Violation(path: file.path, line: line, problem: "names no list: <service>.<Method>"))
                } else if let other = seen.updateValue(file.path, forKey: name) {
                    violations.append(Violation(path: file.path, line: line, problem: "\(name) is the list of \(other)"))
                }
            }
        }
        expectNone(violations, "A cursor of one list is none of another.")
        #expect(seen.count >= 5, "the rule finds the scopes")
    }

    @Test func `a request's cursor is bounded by its proto`() {
        var fields = 0
        let violations = tree.files(below: "Proto/streaksnap/", ending: ".proto").flatMap { file -> [Violation] in
            file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
                guard line.contains("string cursor =") else { return nil }
                fields += 1
                guard !line.contains("max_bytes: 200") else { return nil }
                return Violation(path: file.path, line: index + 1, problem: "has no max_bytes: 200")
            }
        }
        expectNone(violations, "A cursor is short text.")
        #expect(fields >= 5, "the rule finds the fields")
    }
}
