import Testing

/// One word for one thing: `deploy/docs/glossary.md` lists them (D17).
struct VocabularyTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    /// Folders whose comments and texts are checked too, not only documents.
    private static let codeFolders = ["Services/", "Shared/", "Proto/", "Tests/"]

    /// Folders in those that are not checked.
    private static let except = [
        // Generated.
        "Proto/Generated/", "Shared/StreakSnapClient/Generated/",
        // Has the banned words themselves.
        "Tests/TidyTests/VocabularyTests.swift",
    ]

    /// Words of an earlier vocabulary, and what to say instead. Only words that have no other meaning here.
    private static let replaced: [(words: [String], say: String)] = [
        (["tell", "tells", "telling", "told"], "emit, notify, say, report, show"),
        (["hear", "hears", "hearing", "heard", "hearer"], "consume, consumer, receive"),
        (["forget", "forgets", "forgotten", "forgot"], "delete, purge, drop, expire"),
        (["keeper"], "writer"),
        (["teller"], "handler"),
        (["departure"], "erasure, export, purge"),
        (["glance"], "poll interval"),
        (["patience"], "timeout"),
        (["afterglow"], "grace period"),
        (["stands by", "stand by"], "is standby, waits"),
        (
            ["somebody", "someone", "whoever", "whomever", "nobody", "anybody", "everybody"],
            "user, caller, partner, member, client, operator"
        ),
    ]

    @Test func `documents use the words of the glossary`() {
        let violations = tree.documents.flatMap { Self.violations(in: $0.lines, of: $0.path) }
        expectNone(violations, "One word for one thing (deploy/docs/glossary.md).")
    }

    @Test func `comments and texts use the words of the glossary`() {
        let violations = Self.codeFolders.flatMap { folder in
            tree.files(below: folder, ending: "").filter(Self.isChecked).flatMap {
                Self.violations(in: Self.prose(of: $0), of: $0.path)
            }
        }
        expectNone(violations, "One word for one thing (deploy/docs/glossary.md).")
    }

    @Test func `every folder that is checked has files`() {
        for folder in Self.codeFolders {
            let isFilled = tree.files(below: folder, ending: "").contains(where: Self.isChecked)
            #expect(isFilled, "\(folder) has none: correct codeFolders")
        }
    }

    @Test func `the glossary marks the words that are banned`() throws {
        let glossary = try #require(tree.text("deploy/docs/glossary.md"))
        let unmarked = Self.replaced.flatMap(\.words).filter { !glossary.contains("`\($0)` ✗") }
        #expect(unmarked.isEmpty, "the glossary does not mark them with ✗")
    }

    @Test func `finds replaced words in prose, and not in names`() {
        let lines = [
            "Somebody called.", "`keeper` and StreakKeeper and gate_keeper stay.", "It takes patience,", "or stands by.",
            "Nobodys and hearings are other words, and so is shearing.",
        ]
        #expect(
            Self.violations(in: lines, of: "a.md").map(\.description) == [
                "a.md:1: says \"Somebody\": say user, caller, partner, member, client, operator",
                "a.md:3: says \"patience\": say timeout",
                "a.md:4: says \"stands by\": say is standby, waits",
            ]
        )
    }

    @Test func `reads comments, texts and names of tests, and no other code`() {
        let swift = SwiftText(
            """
            let nobody = hears("a text with \\(teller) in it") // a comment
            /* a longer
               one */ let keeper = "seen \\(glance)"
            """
        )
        let lines = swift.proseLines
        #expect(lines.count == 3)
        for (line, word) in [(0, "text"), (0, "in it"), (0, "comment"), (1, "longer"), (2, "one"), (2, "seen")] {
            #expect(lines[line].contains(word), "\(word)")
        }
        for word in ["let", "nobody", "hears", "teller", "keeper", "glance"] {
            #expect(!lines.joined().contains(word), "\(word)")
        }
        #expect(Self.comment(in: "SELECT nobody -- a comment") == " a comment")
        #expect(Self.comment(in: "SELECT nobody").isEmpty)
        #expect(Self.sentences(in: "@Test func `it is told`() { `default` = nobody }") == "it is told")
    }

    /// Documents are checked whole, by another test; Python is not.
    private static func isChecked(_ file: SourceFile) -> Bool {
        !file.path.hasSuffix(".md") && !file.path.hasSuffix(".py") && !except.contains { file.path.hasPrefix($0) }
    }

    /// The comments and texts of each line of a file.
    private static func prose(of file: SourceFile) -> [String] {
        if file.path.hasSuffix(".sql") { return file.lines.map(comment(in:)) }
        // Protos and C have the same comments and texts as Swift.
        guard file.path.hasSuffix(".swift") else { return SwiftText(file.text).proseLines }
        return zip(file.swift.proseLines, file.swift.codeLines).map { $0 + " " + sentences(in: $1) }
    }

    /// Names of tests in a line of code: what stands between backquotes and has spaces.
    private static func sentences(in code: String) -> String {
        code.split(separator: "`", omittingEmptySubsequences: false).enumerated().compactMap { index, part in
            index % 2 == 1 && part.contains(" ") ? String(part) : nil
        }.joined(separator: " ")
    }

    /// What follows the two dashes of a line of SQL.
    private static func comment(in line: String) -> String {
        line.firstRange(of: "--").map { String(line[$0.upperBound...]) } ?? ""
    }

    private static func violations(in lines: [String], of path: String) -> [Violation] {
        lines.enumerated().flatMap { index, line in
            let prose = withoutNames(line)
            return replaced.flatMap { entry in
                entry.words.compactMap { word in
                    Self.found(word, in: prose).map {
                        Violation(path: path, line: index + 1, problem: "says \"\($0)\": say \(entry.say)")
                    }
                }
            }
        }
    }

    /// The line without what stands between backquotes: those are names.
    private static func withoutNames(_ line: String) -> String {
        line.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { $0 % 2 == 0 ? String($1) : " " }.joined()
    }

    /// The word as it stands in a line, upper or lower case, not as a part of a longer one.
    private static func found(_ word: String, in line: String) -> String? {
        let lower = line.lowercased()
        guard lower.contains(word) else { return nil }
        for range in lower.ranges(of: word) {
            let before = range.lowerBound > lower.startIndex ? lower[lower.index(before: range.lowerBound)] : " "
            let after = range.upperBound < lower.endIndex ? lower[range.upperBound] : " "
            // A part of a route is a name: /api/auth/password/forgot.
            guard before != "/", ![before, after].contains(where: { $0.isLetter || $0.isNumber || $0 == "_" }) else { continue }
            let start = lower.distance(from: lower.startIndex, to: range.lowerBound)
            return String(line.dropFirst(start).prefix(word.count))
        }
        return nil
    }
}
