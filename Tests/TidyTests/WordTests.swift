import Testing

/// What must not be written where.
struct WordTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    /// A word that is allowed in one file.
    private struct Exception: Hashable {
        let path: String
        let word: String
        let reason: String
    }

    private static let exceptions: [Exception] =
        [
            Exception(
                path: "Shared/Bus/Entropy.swift",
                word: "SystemRandomNumberGenerator",
                reason: "names of inboxes and instances, trace ids, jitter: the bus's only source"
            ),
            Exception(
                path: "Shared/Bus/CallContext.swift",
                word: ".random(",
                reason: "TraceContext.random, from Entropy: work that no request asked for begins a trace"
            ),
        ]
        + ["Date()", "UUID()", ".random("].map {
            Exception(
                path: "Shared/StreakSnapClient/Surroundings.swift",
                word: $0,
                reason: "the client's only source: it has no Kernel"
            )
        }

    @Test func `time, ids and chance come from the Clock and the IDSource`() {
        let words = [
            "Date()", "Date.now", "UUID()", ".random(", ".randomElement(", ".shuffled(", "SystemRandomNumberGenerator",
            "CLOCK_REALTIME",
        ]
        var violations: [Violation] = []
        var used: Set<Exception> = []
        for file in tree.swift(below: "Services/", "Shared/", "Proto/Generator/")
        where !file.path.hasPrefix("Shared/Kernel/") && !file.path.hasPrefix("Shared/Runtime/") {
            for word in words {
                let offsets = file.swift.offsets(of: word)
                if let exception = Self.exceptions.first(where: { $0.path == file.path && $0.word == word }) {
                    if !offsets.isEmpty { used.insert(exception) }
                } else {
                    violations += offsets.map {
                        Violation(path: file.path, line: file.swift.line(at: $0), problem: "uses \(word)")
                    }
                }
            }
        }
        violations += Self.exceptions.filter { !used.contains($0) }.map {
            Violation(path: $0.path, line: 1, problem: "does not use \($0.word) any more: remove the exception")
        }
        expectNone(violations, "No Date(), UUID() or chance outside Runtime and Kernel (D8).")
    }

    @Test func `nothing can trap on input`() {
        let violations = tree.swift(below: "Services/", "Shared/", "Proto/Generator/Plugin/").flatMap { file in
            Self.traps(in: file.swift).map {
                Violation(path: file.path, line: file.swift.line(at: $0.offset), problem: $0.problem)
            }
        }
        expectNone(violations, "No force unwrap, try!, as! or fatalError.")
    }

    /// Where code can trap.
    static func traps(in text: SwiftText) -> [(offset: Int, problem: String)] {
        let code = text.code
        var found = ["fatalError(", "preconditionFailure(", "unsafelyUnwrapped"].flatMap { word in
            text.offsets(of: word).map { (offset: $0, problem: "uses \(word)") }
        }
        for index in code.indices.dropFirst() where code[index] == UInt8(ascii: "!") {
            let before = code[index - 1]
            let after = index + 1 < code.count ? code[index + 1] : 0
            let isPostfix = before.isName || [")", "]", "}", "\"", ">", "?"].contains(Character(UnicodeScalar(before)))
            if isPostfix && after != UInt8(ascii: "=") { found.append((index, "forces something with !")) }
        }
        return found
    }

    @Test func `only tools print`() {
        let tools = ["Services/StreakSnap/Main/", "Proto/Generator/Plugin/", "Tests/Load/", "Tests/Chaos/", "Tests/Benchmarks/"]
        let violations = tree.swift(below: "Services/", "Shared/", "Proto/", "Tests/").filter { file in
            !tools.contains { file.path.hasPrefix($0) }
        }.flatMap { file in
            ["print(", "debugPrint("].flatMap { word in
                file.swift.offsets(of: word).filter { $0 == 0 || file.swift.code[$0 - 1] != UInt8(ascii: ".") }.map {
                    Violation(path: file.path, line: file.swift.line(at: $0), problem: "uses \(word)")
                }
            }
        }
        expectNone(violations, "Services log; only tools print.")
    }

    @Test func `SQL is written in repositories and migrations only`() {
        let homes = [
            "Shared/Database/", "Shared/Outbox/", "Shared/Replicas/", "Shared/ServiceRuntime/", "Shared/DevEnvironment/",
        ]
        let violations = tree.swift(below: "Services/", "Shared/").filter { file in
            !file.path.contains("/Repositories/") && !file.path.contains("/Migrations/")
                && !homes.contains { file.path.hasPrefix($0) }
        }.flatMap { file in
            file.swift.literals.filter { Self.isSQL($0.text) }.map {
                Violation(path: file.path, line: $0.line, problem: "holds SQL")
            }
        }
        expectNone(violations, "No SQL outside Repositories/ and Migrations/ (D7).")
    }

    /// Whether a text has words in capitals that only SQL writes so.
    static func isSQL(_ text: String) -> Bool {
        let words = " " + text.split(whereSeparator: \.isWhitespace).joined(separator: " ") + " "
        let marks = [
            "SELECT", "INSERT INTO", "DELETE FROM", "FOR UPDATE", "ON CONFLICT", "ORDER BY", "GROUP BY", "CREATE TABLE",
            "ALTER TABLE",
            "DROP TABLE", "TRUNCATE", "RETURNING", "WHERE",
        ]
        if marks.contains(where: { words.contains(" \($0) ") }) { return true }
        return words.hasPrefix(" UPDATE ") && words.contains(" SET ")
    }
}
