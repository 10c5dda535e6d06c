import Testing

/// Who may import whom.
struct LayerTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `domain targets import nothing but Kernel and read no clock`() {
        var violations: [Violation] = []
        for file in tree.swift(below: "Services/") where file.path.contains("/Domain/") {
            // The standard library is imported everywhere; its name stands where something else of it is needed.
            violations += file.imports.filter { !["Kernel", "Swift"].contains($0.module) }.map {
                Violation(path: file.path, line: $0.line, problem: "imports \($0.module)")
            }
            for word in ["SystemClock", "UUIDv7Source"] {
                violations += file.swift.offsets(of: word).map {
                    Violation(
                        path: file.path,
                        line: file.swift.line(at: $0),
                        problem: "uses \(word); take the value as an argument"
                    )
                }
            }
        }
        expectNone(violations, "Rules are pure: the instant and everything else arrive as arguments.")
    }

    /// Which folders may import a module that shows C's types.
    private static let wrappers: [String: [String]] = [
        "CNats": ["Shared/Bus/"],
        "CPostgres": ["Shared/Database/"],
        "CEpoll": ["Shared/Loop/"],
        "CProtobufC": ["Shared/Wire/"],
        "CMessageLayouts": ["Shared/Wire/"],
        "CMalloc": ["Shared/Runtime/"],
        "CSpawn": ["Shared/Processes/"],
        "CVips": ["Shared/Images/"],
        "CCrypt": ["Shared/Passwords/"],
        "CHashProcess": ["Shared/Passwords/"],
        "CBoundedProcess": ["Shared/Videos/"],
        "CCurl": ["Shared/OutgoingHTTP/", "Shared/OutgoingMail/"],
        "CZlib": ["Shared/Gzip/", "Shared/Zip/"],
        "COpenSSL": ["Shared/Cryptography/"],
    ]

    @Test func `only the module that wraps a C library imports it`() {
        let violations = tree.swift(below: "Services/", "Shared/", "Proto/").flatMap { file in
            file.imports.filter { entry in
                guard let folders = Self.wrappers[entry.module] else { return false }
                return !folders.contains { file.path.hasPrefix($0) }
            }.map { Violation(path: file.path, line: $0.line, problem: "imports \($0.module)") }
        }
        expectNone(violations, "Only the module that wraps a C library sees its types.")
    }

    @Test func `every C library has a module that wraps it`() {
        let maps = Set(tree.files(below: "Shared/", ending: ".h").map { String($0.path.split(separator: "/")[1]) })
        let violations = maps.filter { Self.wrappers[$0] == nil }.map {
            Violation(path: "Shared/\($0)", line: 1, problem: "no wrapper is declared in LayerTests")
        }
        expectNone(violations, "A C library is wrapped by one module.")
    }

    @Test func `only Shared says that a change happens once`() {
        let violations = tree.swift(below: "Services/", "Proto/").flatMap { file in
            file.swift.offsets(of: "@_spi(Once)").map {
                Violation(path: file.path, line: file.swift.line(at: $0), problem: "makes a `Once` itself")
            }
        }
        expectNone(violations, "A reply is stored with its change: `Mutations` does it, and nothing else can answer a mutation.")
        let makers = tree.swift(below: "Shared/").filter { !$0.swift.offsets(of: "@_spi(Once)").isEmpty }.map(\.path)
        #expect(
            makers.sorted() == [
                "Shared/Bus/Service/Handlers.swift", "Shared/ServiceRuntime/Once/Mutations.swift",
                "Shared/ServiceRuntime/Once/OperationStore.swift",
            ]
        )
        let stores = tree.swift(below: "Services/").filter { $0.text.contains(": OperationStore {") }.map(\.path)
        #expect(stores == ["Services/Media/Snaps/SnapOperations.swift"], "a row of one's own is for changes across services")
    }

    @Test func `no service imports another`() {
        let services = tree.services
        let violations = tree.swift(below: "Services/").flatMap { file -> [Violation] in
            let owner = String(file.path.split(separator: "/")[1])
            guard owner != "StreakSnap" else { return [] }
            let foreign = Set(services.filter { $0 != owner }.flatMap { ["\($0)Domain", "\($0)Service"] })
            return file.imports.filter { foreign.contains($0.module) }.map {
                Violation(path: file.path, line: $0.line, problem: "imports \($0.module)")
            }
        }
        expectNone(violations, "Services meet on the bus. Only StreakSnap, which runs them all in one process, knows them all.")
    }

    @Test func `shared modules know no service`() {
        let services = tree.services
        let violations = tree.swift(below: "Shared/").flatMap { file in
            file.imports.filter { entry in services.contains { ["\($0)Domain", "\($0)Service"].contains(entry.module) } }.map {
                Violation(path: file.path, line: $0.line, problem: "imports \($0.module)")
            }
        }
        expectNone(violations, "Shared modules lie below the services.")
    }

    @Test func `the gateway compiles without any service's message types`() {
        let violations = tree.swift(below: "Services/Gateway/").flatMap { file in
            file.imports.filter { $0.module.hasSuffix("API") || $0.module == "Replicas" }.map {
                Violation(path: file.path, line: $0.line, problem: "imports \($0.module)")
            }
        }
        expectNone(violations, "The gateway learns every message from descriptors (D2).")
    }
}
