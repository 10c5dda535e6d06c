import Testing

/// What Swift 6.3.1 gets wrong, and so must not be written. To be looked at again with Swift 6.4.
struct ToolchainTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `no asynchronous let: the runtime reads its child after the parent may have reused the memory`() {
        let violations = tree.swift(below: "Services/", "Shared/", "Proto/Generator/Plugin/", "Tests/").flatMap { file in
            Self.asyncLets(in: file.swift).map {
                Violation(path: file.path, line: file.swift.line(at: $0), problem: "uses async let: take concurrently() or Task")
            }
        }
        expectNone(violations, "No async let before Swift 6.4 (swiftlang/swift #89883): it crashed a service.")
    }

    @Test func `no tuple comes out of a task group: the optimiser loses it`() {
        let violations = tree.swift(below: "Services/", "Shared/", "Proto/Generator/Plugin/", "Tests/").flatMap { file in
            Self.tupleGroups(in: file.swift).map {
                Violation(path: file.path, line: file.swift.line(at: $0.offset), problem: $0.problem)
            }
        }
        expectNone(violations, "Swift 6.3.1 with -O loses results of a task group whose child result is a tuple: name a struct.")
    }

    @Test func `the tests are of the optimised build, which is what users run`() {
        var isOptimised = true
        // Left out by the optimiser.
        assert(
            {
                isOptimised = false
                return true
            }()
        )
        #expect(isOptimised, "run them by deploy/dev test: a debug build hides what the optimiser gets wrong")
    }

    /// Where `async let` stands, whatever is between the words.
    static func asyncLets(in text: SwiftText) -> [Int] {
        text.offsets(of: "async").filter { offset in
            let rest = text.code[(offset + 5)...].drop(while: \.isSpace)
            return rest.starts(with: Array("let".utf8)) && !(rest.dropFirst(3).first?.isName ?? false)
        }
    }

    /// Task groups whose child result is a tuple, or is not written down.
    static func tupleGroups(in text: SwiftText) -> [(offset: Int, problem: String)] {
        ["withTaskGroup", "withThrowingTaskGroup"].flatMap { text.offsets(of: $0) }.compactMap { offset in
            let call = String(decoding: text.code[offset...].prefix(200), as: UTF8.self).filter { !$0.isWhitespace }
            let rest = call.drop { $0 != "(" && $0 != "{" }
            guard rest.hasPrefix("(of:") else { return (offset, "a task group that does not say the type of its children") }
            return rest.dropFirst(4).hasPrefix("(") ? (offset, "a task group whose children give a tuple") : nil
        }
    }

    @Test func `finds what it forbids, and nothing else`() {
        let bad = SwiftText(
            """
            async let a = f()
            async
              let b = 1
            await withTaskGroup(of: (Int, Int).self) { _ in }
            try await withThrowingTaskGroup { group in }
            """
        )
        #expect(Self.asyncLets(in: bad).map { bad.line(at: $0) } == [1, 2])
        #expect(Self.tupleGroups(in: bad).map { bad.line(at: $0.offset) } == [4, 5])
        let good = SwiftText(
            """
            // async let
            let text = "async let"
            func f() async -> Int
            async letter
            await withTaskGroup(
                of: Pair.self
            ) { _ in }
            """
        )
        #expect(Self.asyncLets(in: good).isEmpty && Self.tupleGroups(in: good).isEmpty)
    }
}
