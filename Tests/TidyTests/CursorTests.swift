import Testing

/// Cursors of lists are made and read by `Page` (PF-3).
struct CursorTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `no service makes or reads a cursor itself`() {
        let violations = tree.swift(below: "Services/").flatMap { file in
            ["request.cursor", "CursorScope("].flatMap { word in
                file.swift.offsets(of: word).map {
                    Violation(path: file.path, line: file.swift.line(at: $0), problem: "uses \(word): take a Page")
                }
            }
        }
        expectNone(violations, "A cursor belongs to a list, a user and filters, and is checked whole.")
        let pages = tree.swift(below: "Services/").filter { file in
            ["Page<PageCursor>(", "Page<CalendarDate>("].contains { !file.swift.offsets(of: $0).isEmpty }
        }
        #expect(pages.count >= 6, "the rule finds the handlers")
    }

    @Test func `a message with a cursor is the request of a list`() {
        var lists = 0
        let violations = tree.files(below: "Proto/streaksnap/", ending: ".proto").flatMap { file -> [Violation] in
            file.text.split(separator: "\nmessage ").dropFirst().compactMap { message in
                guard message.contains(" string cursor =") else { return nil }
                lists += 1
                guard !message.contains("option (streaksnap.options.v1.page) =") else { return nil }
                let name = message.prefix { $0.isLetter || $0.isNumber }
                return Violation(path: file.path, line: 1, problem: "\(name) has a cursor and no option `page`")
            }
        }
        expectNone(violations, "The sizes of a list's pages are declared, and its cursors checked in one place.")
        #expect(lists >= 6, "the rule finds the messages")
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
