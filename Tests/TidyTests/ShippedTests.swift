import Testing

/// What only tests call is not shipped: a rule of a domain that no service uses is dead, or a service has another version of it.
struct ShippedTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `everything that a domain offers is used outside the tests`() {
        let sources = tree.swift(below: "Services/", "Shared/")
        #expect(Set(sources.compactMap { Self.domain(of: $0.path) }).count > 4)
        #expect(sources.filter { Self.domain(of: $0.path) != nil }.flatMap(\.swift.sharedMembers).count > 100)
        expectNone(Self.unused(in: sources), "Use it in a service, or remove it.")
    }

    @Test func `finds what only itself, a label or another declaration names`() {
        let files = [
            "Services/Game/Domain/Score.swift": """
            public func best(_ scores: [Int]) -> Int { 0 }
            public struct Score {
                public var stored: Int
                public var chained: Int = { 1 }()
                public var shown: Int { stored }
                public var hidden: Int { stored }
                public static func total(_ n: Int) -> Int { inner(n) }
                public func inner(_ n: Int) -> Int { n }
                public mutating func again(_ n: Int) {
                    self.again(n - 1)
                }
                package func labelled() {}
                public func namesake() {}
                @discardableResult public func noted() -> Int { 1 }
                public func written() -> Int { 1 }
                func own() {}
                public static func == (a: Score, b: Score) -> Bool { true }
            }
            """,
            "Services/Game/Service/Play.swift": """
            // score.hidden and "score.written()"
            func play(_ score: Score, labelled: Int) -> String {
                let namesake = Score.total(best([score.shown]), labelled: 1)
                return "score.hidden \\(score.written())"
            }
            """,
        ].map { SourceFile(path: $0.key, text: $0.value, swift: SwiftText($0.value)) }
        let found = Self.unused(in: files).sorted { $0.line < $1.line }
        #expect(
            found.map(\.problem) == ["hidden", "again", "labelled", "namesake", "noted"].map { "nothing but tests uses \($0)" }
        )
        #expect(found.map(\.line) == [6, 9, 12, 13, 14])
    }

    /// The folder of a domain target that a file belongs to; nil for other files.
    private static func domain(of path: String) -> String? {
        let parts = path.split(separator: "/")
        guard parts.count > 3, parts[0] == "Services", parts[2] == "Domain" else { return nil }
        return parts[0...2].joined(separator: "/") + "/"
    }

    /// Functions and computed properties of domains that no other code names. Other modules name a member after a dot; its own may leave
    /// `self` out. Names alone are compared: what shares its name with something that is used is not found.
    private static func unused(in files: [SourceFile]) -> [Violation] {
        let offered = files.flatMap { file -> [(path: String, domain: String, member: SharedMember)] in
            guard let domain = domain(of: file.path) else { return [] }
            return file.swift.sharedMembers.map { (file.path, domain, $0) }
        }
        let names = Set(offered.map(\.member.name))
        var uses: [String: [(path: String, use: NameUse)]] = [:]
        for file in files {
            for use in file.swift.uses(of: names) { uses[use.name, default: []].append((file.path, use)) }
        }
        return offered.filter { path, domain, member in
            !uses[member.name, default: []].contains { place, use in
                if place == path, member.lines.contains(use.line) { return false }
                return use.isMember || place.hasPrefix(domain) || member.isFree
            }
        }.map { Violation(path: $0.path, line: $0.member.lines.lowerBound, problem: "nothing but tests uses \($0.member.name)") }
    }
}
