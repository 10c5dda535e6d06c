import Kernel
import Testing
import TestingAPI
import Wire

@Suite struct ValidationTests {
    /// A message that breaks no rule.
    private static func valid() -> Ruled {
        Ruled(
            needed: "x",
            ids: ["018f3c1e-7a4b-7c3d-9e2f-001122334455"],
            color: .red,
            at: .epoch,
            part: .init(key: "k"),
            notZero: 1,
            agreed: true,
            numbers: [1]
        )
    }

    /// So an older release does not take the bus's question about a request for the request.
    @Test func `a message with the tag of field 0 behind it is none`() throws {
        let bytes = try Self.valid().serialized()
        #expect(try Ruled(serialized: bytes) == Self.valid())
        #expect(throws: WireError.malformed) { try Ruled(serialized: bytes + [7]) }
        #expect(throws: WireError.malformed) { try Ruled(request: bytes + [7]) }
    }

    private static func problems(_ change: (inout Ruled) -> Void) -> [String] {
        var message = valid()
        change(&message)
        do {
            try message.validate()
            return []
        } catch {
            #expect(error.code == .invalidArgument && error.reason == "VALIDATION_ERROR")
            return error.details.map { "\($0.field) \($0.message)" }
        }
    }

    private static let id = "018f3c1e-7a4b-7c3d-9e2f-001122334455"

    /// What is changed in a valid message, and what must be said about it.
    private static let table: [(@Sendable (inout Ruled) -> Void, [String])] = [
        ({ _ in }, []),
        ({ $0.needed = "" }, ["needed is required"]),
        ({ $0.needed = "12345678901" }, ["needed must have at most 10 characters"]),
        ({ $0.needed = "éééééééééé" }, []),
        ({ $0.between = "" }, ["between must have 2 to 4 characters"]),
        ({ $0.between = "😀" }, ["between must have 2 to 4 characters"]),
        ({ $0.between = "😀😀😀😀" }, []),
        ({ $0.between = "abcde" }, ["between must have 2 to 4 characters"]),
        // As a person counts: of seven code points, of two, of three.
        ({ $0.between = "👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦" }, []),
        ({ $0.between = "🇩🇪e\u{301}ạ\u{302}" }, []),
        ({ $0.between = "👨‍👩‍👧‍👦" }, ["between must have 2 to 4 characters"]),
        ({ $0.between = "👍🏽👍🏽👍🏽👍🏽👍🏽" }, ["between must have 2 to 4 characters"]),
        // Marks upon marks are bounded.
        ({ $0.between = "ab" + String(repeating: "\u{301}", count: 63) }, []),
        (
            { $0.between = "ab" + String(repeating: "\u{301}", count: 64) },
            ["between must have at most 4 characters and 128 bytes"]
        ),
        ({ $0.byBytes = "é" }, []),
        ({ $0.byBytes = "éé1" }, ["by_bytes must have 2 to 4 bytes"]),
        ({ $0.raw = [1, 2, 3] }, []),
        ({ $0.raw = [1, 2, 3, 4] }, ["raw must have at most 3 bytes"]),
        ({ $0.fromTo = -5 }, []),
        ({ $0.fromTo = -6 }, ["from_to must be between -5 and 5"]),
        ({ $0.fromTo = 6 }, ["from_to must be between -5 and 5"]),
        ({ $0.atMost = 1 }, []),
        ({ $0.atMost = 1.01 }, ["at_most must be at most 1"]),
        ({ $0.atMost = .nan }, ["at_most must be at most 1"]),
        ({ $0.atLeast = 9 }, ["at_least must be at least 10"]),
        ({ $0.atLeast = .max }, []),
        ({ $0.name = "a.b_9" }, []),
        ({ $0.name = "a b" }, ["name must be of a-z, 0-9, _ and . only"]),
        ({ $0.name = "" }, []),
        ({ $0.name = "abc\n" }, ["name must be of a-z, 0-9, _ and . only"]),
        ({ $0.size = "large" }, []),
        ({ $0.size = "Large" }, ["size must be one of: small, large"]),
        ({ $0.id = id.uppercased() }, []),
        ({ $0.id = "018f3c1e" }, ["id must be a UUID"]),
        ({ $0.email = "ann@example.org" }, []),
        ({ $0.email = "ann" }, ["email must be an e-mail address"]),
        ({ $0.date = "2024-02-29" }, []),
        ({ $0.date = "2023-02-29" }, ["date must be a date, YYYY-MM-DD"]),
        ({ $0.month = "2024-12" }, []),
        ({ $0.month = "2024-13" }, ["month must be a month, YYYY-MM"]),
        ({ $0.timeZone = "Europe/Berlin" }, []),
        ({ $0.timeZone = "-03:30" }, []),
        (
            { $0.timeZone = "Mars/Olympus" },
            ["time_zone must be an IANA time zone such as Europe/Berlin, or an offset such as +05:30"]
        ),
        ({ $0.uri = "https://example.org/a?b=c#d" }, []),
        ({ $0.uri = "example.org" }, ["uri must be a URI"]),
        ({ $0.ids = [] }, ["ids is required: 1 to 3 entries"]),
        ({ $0.ids = [id, "no", id, ""] }, ["ids must have 1 to 3 entries", "ids[1] must be a UUID"]),
        ({ $0.labels = ["a": "", "b": "", "c": ""] }, ["labels must have at most 2 entries"]),
        ({ $0.color = .unspecified }, ["color is required"]),
        ({ $0.color = .unrecognized(99) }, ["color is not a known value"]),
        ({ $0.at = nil }, ["at is required"]),
        ({ $0.part = nil }, ["part is required"]),
        ({ $0.part = .init() }, ["part.key must have at least 1 characters"]),
        ({ $0.parts = [.init(key: "a"), .init()] }, ["parts[1].key must have at least 1 characters"]),
        ({ $0.partByName = ["p": .init()] }, ["part_by_name[p].key must have at least 1 characters"]),
        ({ $0.one = .short("ab") }, []),
        ({ $0.one = .short("abc") }, ["short must have at most 2 characters"]),
        ({ $0.one = .piece(.init()) }, ["piece.key must have at least 1 characters"]),
        ({ $0.notZero = nil }, ["not_zero is required"]),
        ({ $0.notZero = 0 }, ["not_zero is required"]),
        ({ $0.agreed = false }, ["agreed is required"]),
        ({ $0.numbers = [] }, ["numbers is required"]),
        ({ $0.numbers = [1, 0] }, ["numbers[1] must be at least 1"]),
    ]

    @Test(arguments: table.indices) func `a rule is kept`(_ index: Int) {
        let (change, expected) = Self.table[index]
        #expect(Self.problems(change) == expected)
    }

    @Test func `all violations are reported at once`() {
        let problems = Self.problems { message in
            message.needed = ""
            message.fromTo = 100
            message.at = nil
        }
        #expect(problems == ["needed is required", "from_to must be between -5 and 5", "at is required"])
    }

    @Test func `a violation never shows what was sent`() {
        let problems = Self.problems { message in
            message.name = "s3cret value"
            message.email = "s3cret"
            message.size = "s3cret"
        }
        #expect(problems.count == 3)
        #expect(!problems.joined().contains("s3cret"))
    }

    @Test func `an instant that is none hides nothing, and has no rule broken`() throws {
        var message = Self.valid()
        (message.at, message.needed) = (nil, "")
        var writer = WireWriter()
        // 1,000,000,000 nanoseconds.
        writer.bytes([0x10, 0x80, 0x94, 0xEB, 0xDC, 0x03], field: 19)
        let bytes = try message.serialized() + writer.bytes
        #expect(throws: WireError.timestampOutOfRange(field: "at")) { try Ruled(request: bytes) }
        let problems = Ruled.problems(ofRefused: bytes) { message in
            guard let at = message.at else { return [.init(field: "size", message: "needs at")] }
            return [
                .init(field: "name", message: at < .epoch ? "is too early" : "is too late"),
                .init(field: "size", message: "is wrong"),
            ]
        }
        #expect(problems.map { "\($0.field) \($0.message)" } == ["needed is required", "size is wrong"])
    }

    @Test func `the list of violations is bounded`() {
        let problems = Self.problems { $0.parts = Array(repeating: .init(), count: 5_000) }
        #expect(problems.count == Violations.mostDetails)
    }
}
