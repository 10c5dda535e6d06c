import Testing

/// The rules see what they must see.
struct SwiftTextTests {
    @Test func `comments and texts are no code`() {
        let text = SwiftText(
            """
            let a = "print(" // print(
            /* print( /* nested print( */ print( */
            let b = #"raw \\#(print(1)) print("#
            print("\\(print(2)) print(")
            """
        )
        #expect(text.offsets(of: "print(").map { text.line(at: $0) } == [3, 4, 4])
    }

    @Test func `literals are found with their lines and without interpolations`() {
        let quotes = "\"\"\""
        let text = SwiftText(
            "let q = \(quotes)\n  SELECT \\(id(\"x\")) FROM t\n  \(quotes)\nlet other = \"UPDATE t SET a = 1\"\n"
        )
        #expect(text.literals.map(\.line) == [2, 1, 4])
        #expect(text.literals.map { WordTests.isSQL($0.text) } == [false, true, true])
        #expect(!WordTests.isSQL("Where a photo is SELECTED"))
    }

    @Test func `a word is not a part of a name`() {
        let text = SwiftText("reprint(1); print(2); Date(); MyDate(); myDate(); Date(3)")
        #expect(text.offsets(of: "print(").count == 1)
        #expect(text.offsets(of: "Date()").count == 1)
    }

    @Test(arguments: ["value!.count", "list[0]!", "call()!", "try! run()", "x as! Int", "fatalError(\"no\")", "var view: View!"])
    func `what can trap is seen`(code: String) {
        #expect(!WordTests.traps(in: SwiftText(code)).isEmpty)
    }

    @Test(arguments: [
        "a != b", "a! = b".replacing("! ", with: " !"), "!isEmpty", "if !x, !y() {}", "\"wow!\"", "// no!", "x !== y",
    ])
    func `what cannot trap is not`(code: String) {
        #expect(WordTests.traps(in: SwiftText(code)).isEmpty)
    }

    @Test func `functions are measured from their head to their end`() {
        let text = SwiftText(
            """
            protocol P { func none() -> Int }
            struct S {
                func one() { 1 }
                func two(
                    _ a: () -> Void = {}
                ) async throws
                    -> Int
                {
                    if a { b() }
                }
                init() {}
            }
            let x = S.init()
            """
        )
        #expect(
            text.functions == [
                FunctionSpan(name: "one", line: 3, lines: 1), FunctionSpan(name: "two", line: 4, lines: 7),
                FunctionSpan(name: "init", line: 11, lines: 1),
            ]
        )
    }

    @Test func `public declarations are found with their comments`() {
        let text = SwiftText(
            """
            public import Kernel
            /// Said.
            public struct A: Clock, Equatable {
                public private(set) var silent = 1
                /// Said.
                @discardableResult
                public func spoken() -> Int { 1 }
                public init?(_ a: Int) {}
                public func now() {}
            }
            extension A { public static func == (a: A, b: A) -> Bool { true } }
            """
        )
        let found = text.publicDeclarations
        #expect(found.map(\.name) == ["A", "silent", "spoken", "init(_", "now"])
        #expect(found.map(\.isDocumented) == [true, false, true, false, false])
        #expect(found.last?.conformances == ["Clock", "Equatable"])
    }

    @Test func `a protocol's requirements are known`() {
        let text = SwiftText(
            "public protocol Clock {\n    func now() -> Int\n    var zone: String { get }\n    init?(text: String)\n}\n"
        )
        #expect(text.protocolRequirements == ["Clock": ["now", "zone", "init(text"]])
    }
}
