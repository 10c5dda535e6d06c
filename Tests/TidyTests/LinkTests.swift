import Testing

/// What documents point to.
struct LinkTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `every link in a document leads somewhere`() {
        let violations = tree.documents.flatMap { document in
            document.lines.enumerated().flatMap { index, line in
                Self.links(in: line).filter { !tree.has(Self.path($0, seenFrom: document.path)) }.map {
                    Violation(path: document.path, line: index + 1, problem: "links to \($0), which is not there")
                }
            }
        }
        expectNone(violations, "Links in documents lead to files.")
    }

    @Test func `every path that a document names exists`() {
        let violations = tree.documents.flatMap { document in
            let folder = Self.folder(of: document.path)
            return document.lines.enumerated().flatMap { index, line in
                Self.paths(in: line).filter { !tree.has($0) && !tree.has(folder + $0) }.map {
                    Violation(path: document.path, line: index + 1, problem: "names \($0), which is not there")
                }
            }
        }
        expectNone(violations, "Paths in documents exist, from the top or beside the document.")
    }

    @Test func `sees links and paths`() {
        #expect(Self.links(in: "See [a](b/c.md#part), [x](https://x.org) and [d](../d.md).") == ["b/c.md", "../d.md"])
        #expect(Self.path("../d.md", seenFrom: "deploy/docs/a.md") == "deploy/d.md")
        #expect(Self.path("../../Shared", seenFrom: "deploy/docs/a.md") == "Shared")
        #expect(Self.path("c.md", seenFrom: "README.md") == "c.md")
        let line = "`Shared/Bus/Tick.swift` (Domain/R.swift, D6), `deploy/dev up`, /etc/a/b.conf, https://x.org/y.md, Tests/X."
        #expect(Self.paths(in: line) == ["Shared/Bus/Tick.swift", "Domain/R.swift", "deploy/dev", "Tests/X"])
        #expect(Self.paths(in: "HTTP/JSON, `Services/<Name>/Main`, `*_events.proto` of `Proto/a`") == ["Services/", "Proto/a"])
        #expect(Self.paths(in: "`Tests/{Soak,Chaos}` and .run/a.md") == ["Tests/"])
    }

    /// The targets of Markdown links to files, without the part behind `#`.
    private static func links(in line: String) -> [String] {
        line.matches(of: /\]\(([^)\s]+)\)/).map { String($0.output.1) }.filter { !$0.contains("://") && !$0.hasPrefix("#") }.map {
            String($0.prefix { $0 != "#" })
        }
    }

    /// Words that are paths: they begin with a folder of the top, or end like a file.
    private static func paths(in line: String) -> [String] {
        let tops = ["Services/", "Shared/", "Proto/", "Tests/", "deploy/", ".github/"]
        let endings = [".swift", ".md", ".sql", ".proto", ".py", ".json", ".yaml", ".conf", ".sh"]
        // Links are checked apart, and their targets are seen from the document.
        let prose = line.replacing(/\]\([^)]*\)/, with: "] ")
        return prose.split { !$0.isLetter && !$0.isNumber && !"_./+-".contains($0) }.map(String.init).map {
            $0.hasSuffix(".") ? String($0.dropLast()) : $0
        }.filter { word in
            guard word.contains("/"), !word.contains("//") else { return false }
            return tops.contains { word.hasPrefix($0) }
                || !word.hasPrefix("/") && !word.hasPrefix(".") && endings.contains { word.hasSuffix($0) }
        }
    }

    /// A relative link as a path from the top.
    private static func path(_ link: String, seenFrom document: String) -> String {
        var parts = folder(of: document).split(separator: "/")
        for part in link.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }

    /// The folder of a file, with its slash; empty at the top.
    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    }
}
