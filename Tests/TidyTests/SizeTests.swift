import Testing

/// Files and functions that fit into a head.
struct SizeTests {
    private static let longestFile = 400
    private static let longestFunction = 70
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `no file is long`() {
        let files = tree.swift(below: "Services/", "Shared/", "Proto/", "Tests/", "Package.swift")
        let violations = files.filter { $0.lineCount > Self.longestFile }.map {
            Violation(path: $0.path, line: Self.longestFile + 1, problem: "has \($0.lineCount) lines")
        }
        expectNone(violations, "No file above \(Self.longestFile) lines.")
    }

    @Test func `no function is long`() {
        let files = tree.swift(below: "Services/", "Shared/", "Proto/", "Tests/", "Package.swift")
        let violations = files.flatMap { file in
            file.swift.functions.filter { $0.lines > Self.longestFunction }.map {
                Violation(path: file.path, line: $0.line, problem: "\($0.name) has \($0.lines) lines")
            }
        }
        expectNone(violations, "No function above \(Self.longestFunction) lines.")
    }
}
