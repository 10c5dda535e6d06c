import CommonAPI
import Kernel
import Testing
import TestingAPI
import Wire

@Suite struct CodecTests {
    @Test func `a random message comes back as it was`() throws {
        var samples = Samples(seed: 1)
        for _ in 0..<500 {
            let message = samples.everything()
            #expect(try Everything(serialized: message.serialized()) == message)
            let tree = samples.tree(depth: 5)
            #expect(try Tree(serialized: tree.serialized()) == tree)
        }
    }

    @Test func `a message without fields has no bytes`() throws {
        #expect(try Everything().serialized() == [])
        #expect(try Everything(serialized: [] as [UInt8]) == Everything())
        #expect(try Empty(serialized: Empty().serialized()) == Empty())
    }

    @Test func `an optional field set to its default is kept`() throws {
        let message = Everything(
            maybeInt32: 0,
            maybeUint64: 0,
            maybeDouble: 0,
            maybeBool: false,
            maybeString: "",
            maybeBytes: [],
            maybeColor: .unspecified
        )
        let decoded = try Everything(serialized: message.serialized())
        #expect(decoded == message)
        #expect(decoded.maybeString == "")
        #expect(decoded.maybeInt32 == 0)
    }

    @Test func `a oneof set to a default is kept`() throws {
        for choice in [.number(0), .text(""), .raw([]), .nested(.init()), .shade(.unspecified), .moment(.epoch), .flag(false)]
            as [Everything.Choice]
        {
            #expect(try Everything(serialized: Everything(choice: choice).serialized()).choice == choice)
        }
    }

    @Test func `of two members of a oneof the last counts`() throws {
        let first = try Everything(choice: .text("a")).serialized()
        let second = try Everything(choice: .nested(.init(name: "b"))).serialized()
        #expect(try Everything(serialized: first + second).choice == .nested(.init(name: "b")))
        #expect(try Everything(serialized: second + first).choice == .text("a"))
    }

    @Test func `unknown fields are ignored`() throws {
        var extra = WireWriter()
        extra.varint(7, field: 900)
        extra.bytes("later".utf8, field: 901)
        extra.field(.init(number: 902, value: .fixed32(1)))
        extra.field(.init(number: 903, value: .fixed64(1)))
        let message = Everything(aString: "kept")
        #expect(try Everything(serialized: extra.bytes + message.serialized() + extra.bytes) == message)
    }

    @Test func `unknown enum values are kept`() throws {
        let message = Everything(
            color: .unrecognized(77),
            maybeColor: .unrecognized(-3),
            choice: .shade(.unrecognized(.max)),
            colors: [.red, .unrecognized(1_000)],
            colorByFlag: [true: .unrecognized(.min)]
        )
        #expect(try Everything(serialized: message.serialized()) == message)
    }

    @Test func `equal messages have equal bytes whatever the order of insertion`() throws {
        let keys = (0..<50).map { "key \($0)" }
        var first = Everything()
        var second = Everything()
        for key in keys { first.labels[key] = key }
        for key in keys.reversed() { second.labels[key] = key }
        #expect(try first.serialized() == second.serialized())
    }

    @Test func `packed and unpacked lists are both read`() throws {
        var writer = WireWriter()
        for value in [1, 2, 3] as [UInt64] { writer.varint(value, field: 43) }
        writer.bytes([1, 2, 3], field: 59)
        let message = try Everything(serialized: writer.bytes)
        #expect(message.int32s == [1, 2, 3])
        #expect(message.unpacked == [1, 2, 3])
    }

    @Test func `instants keep microseconds also before 1970`() throws {
        for microseconds in [0, 1, -1, 999_999, -999_999, 1_700_000_000_123_456, -62_135_596_800_000_000] as [Int64] {
            let message = Everything(at: Instant(microseconds: microseconds))
            #expect(try Everything(serialized: message.serialized()).at == message.at)
        }
    }

    @Test func `an instant beyond the year 9999 is refused`() {
        let message = Everything(at: Instant(seconds: 253_402_300_800))
        #expect(throws: WireError.timestampOutOfRange(field: "at")) { try message.serialized() }
    }

    @Test func `a NUL in a string is refused on encoding`() {
        #expect(throws: WireError.nulInString(field: "a_string")) { try Everything(aString: "a\0b").serialized() }
        #expect(throws: WireError.nulInString(field: "strings")) { try Everything(strings: ["", "\0"]).serialized() }
        #expect(throws: WireError.nulInString(field: "labels")) { try Everything(labels: ["a\0": ""]).serialized() }
    }

    @Test func `a message beyond the size limit is refused both ways`() {
        let big = Everything(aBytes: [UInt8](repeating: 1, count: WireLimits.maxBytes))
        #expect(throws: WireError.tooLarge) { try big.serialized() }
        #expect(throws: WireError.tooLarge) {
            try Everything(serialized: [UInt8](repeating: 0, count: WireLimits.maxBytes + 1))
        }
    }

    @Test func `a message of megabytes fits through the arena`() throws {
        let message = Everything(
            aBytes: [UInt8](repeating: 7, count: 3_000_000),
            strings: (0..<20_000).map { "string number \($0)" }
        )
        #expect(try Everything(serialized: message.serialized()) == message)
    }

    @Test func `many threads can code at once`() async throws {
        let wrong = await withTaskGroup(of: Int.self) { group in
            for seed in 0..<8 as Range<UInt64> {
                group.addTask {
                    var samples = Samples(seed: seed)
                    return (0..<100).count { _ in
                        let message = samples.everything()
                        return (try? Everything(serialized: message.serialized())) != message
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }

    @Test func `names that are keywords work`() throws {
        let message = Keywords(
            class: "a",
            default: 1,
            in: true,
            repeat: ["b"],
            while: 2,
            friend: "c",
            switch: .where("d"),
            apiKey: "e"
        )
        #expect(try Keywords(serialized: message.serialized()) == message)
    }
}
