import Testing

/// What a cancelled task may conclude.
struct CancellationTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `nothing ends because of a CancellationError alone`() {
        let files = tree.swift(below: "Shared/") + tree.swift(below: "Services/")
        let violations = files.flatMap { file in
            Self.ends(file.swift).map { Violation(path: file.path, line: $0, problem: "ends") }
        }
        expectNone(violations, "The error may be of something that was waited for, and not of this task: ask Task.isCancelled.")
    }

    /// The lines of blocks that leave a loop or a function when they catch one.
    private static func ends(_ text: SwiftText) -> [Int] {
        text.offsets(of: "catch is CancellationError").compactMap { offset in
            let block = text.code[offset...].drop { $0 != UInt8(ascii: "{") }.dropFirst()
            let start = String(decoding: block.prefix(400), as: UTF8.self)
            return start.prefixMatch(of: /\s*(return|break)[ \t]*[}\n]/) == nil ? nil : text.line(at: offset)
        }
    }

    @Test func `finds what it forbids, and nothing else`() {
        let text = SwiftText(
            """
            do { try run() } catch is CancellationError { return } catch {}
            do { try run() } catch is CancellationError {
                // Why not.
                break
            }
            do { try run() } catch is CancellationError { throw CancellationError() }
            do { try run() } catch is CancellationError { return .failure(.stopping) }
            do { try run() } catch is CancellationError {} catch { return }
            """
        )
        #expect(Self.ends(text) == [1, 2])
    }
}
