import Foundation
import Testing

/// A hand-written or generated file of the repository.
struct SourceFile: Sendable {
    /// From the top of the repository: `Shared/Kernel/Clock.swift`.
    let path: String
    let text: String
    /// The same, split; empty for files that are not Swift.
    let swift: SwiftText

    /// Each line as it is written.
    var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }

    /// How many lines it has.
    var lineCount: Int { text.split(separator: "\n", omittingEmptySubsequences: false).count - (text.hasSuffix("\n") ? 1 : 0) }

    /// What it imports, with the line.
    var imports: [(module: String, line: Int)] {
        swift.codeLines.enumerated().compactMap { index, line in
            let words = line.split(separator: " ").drop {
                $0.hasPrefix("@") || ["public", "internal", "private", "package"].contains($0)
            }
            guard words.first == "import", let name = words.last else { return nil }
            return (String(name.split(separator: ".")[0]), index + 1)
        }
    }
}

/// The files of this repository, found from where this one lies.
struct SourceTree: Sendable {
    let root: URL
    let files: [SourceFile]

    /// Read once for all tests.
    static let loaded = Result { try SourceTree(root: URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL) }

    /// Folders that are generated.
    private static let generated = ["Proto/Generated/", "Shared/StreakSnapClient/Generated/"]

    init(root: URL) throws {
        self.root = root
        let isRoot = FileManager.default.fileExists(atPath: root.appending(path: "Package.swift").path)
        guard isRoot else { throw NoRepository(path: root.path) }
        let folders = ["Services", "Shared", "Proto", "Tests", "deploy", ".github"]
        let paths = try folders.flatMap { try Self.paths(below: $0, root) } + ["Package.swift", "README.md"]
        let kinds = [".swift", ".sql", ".proto", ".md", ".c", ".h", ".py"]
        self.files = try paths.filter { path in kinds.contains { path.hasSuffix($0) } }.sorted().map { path in
            let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            let isSwift = path.hasSuffix(".swift") && !Self.generated.contains { path.hasPrefix($0) }
            return SourceFile(path: path, text: text, swift: SwiftText(isSwift ? text : ""))
        }
    }

    /// Hand-written Swift below any of these folders.
    func swift(below folders: String...) -> [SourceFile] {
        files.filter { file in
            file.path.hasSuffix(".swift") && folders.contains { file.path.hasPrefix($0) }
                && !Self.generated.contains { file.path.hasPrefix($0) }
        }
    }

    /// The documents: README.md, and every other Markdown file.
    var documents: [SourceFile] { files.filter { $0.path.hasSuffix(".md") } }

    /// Whether a file or folder is there.
    func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root.appending(path: path).path) }

    /// Every file with this ending below a folder.
    func files(below folder: String, ending: String) -> [SourceFile] {
        files.filter { $0.path.hasPrefix(folder) && $0.path.hasSuffix(ending) }
    }

    /// The folders of `Services`.
    var services: [String] {
        Set(files(below: "Services/", ending: "").map { String($0.path.split(separator: "/")[1]) }).sorted()
    }

    /// The text of a file; nil when there is none.
    func text(_ path: String) -> String? { try? String(contentsOf: root.appending(path: path), encoding: .utf8) }

    private static func paths(below folder: String, _ root: URL) throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
        // Build folders of packages inside the repository are hidden.
        return names.map { "\(folder)/\($0)" }.filter { !$0.contains("/.") }
    }
}

/// The tests do not lie in a repository.
struct NoRepository: Error {
    let path: String
}

/// Something that breaks a rule.
struct Violation: Sendable, CustomStringConvertible {
    let path: String
    let line: Int
    let problem: String

    var description: String { "\(path):\(line): \(problem)" }
}

/// Fails with one line a violation.
func expectNone(_ violations: [Violation], _ rule: String, sourceLocation: SourceLocation = #_sourceLocation) {
    guard !violations.isEmpty else { return }
    let list = violations.sorted { ($0.path, $0.line) < ($1.path, $1.line) }.map(\.description).joined(separator: "\n")
    Issue.record("\(rule)\n\(list)", sourceLocation: sourceLocation)
}
