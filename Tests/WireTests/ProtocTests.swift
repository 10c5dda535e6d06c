import CommonAPI
import Foundation
import Kernel
import Processes
import Testing
import TestingAPI
import Wire

/// The codec against Google's own implementation: `protoc --encode` and `--decode`, driven by the embedded descriptor set.
@Suite struct ProtocTests {
    private static func protoc(_ mode: String, _ message: String, _ input: Data) async throws -> Data {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("streaksnap-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let descriptors = folder.appendingPathComponent("set.pb")
        try Data(TestingDescriptor.bytes).write(to: descriptors)
        let result = try await run(
            "protoc",
            ["--descriptor_set_in=\(descriptors.path)", "--\(mode)=streaksnap.testing.v1.\(message)"],
            input: Array(input)
        )
        try #require(result.status == 0, "\(result.errors)")
        return Data(result.output)
    }

    @Test func `random messages pass through protoc both ways`() async throws {
        var samples = Samples(seed: 5)
        for _ in 0..<40 {
            let message = samples.everything()
            let text = try await Self.protoc("decode", "Everything", Data(message.serialized()))
            let bytes = try await Self.protoc("encode", "Everything", text)
            #expect(try Everything(serialized: Array(bytes)) == message)
        }
    }

    @Test func `recursive messages pass through protoc both ways`() async throws {
        var samples = Samples(seed: 6)
        for _ in 0..<10 {
            let tree = samples.tree(depth: 5)
            let text = try await Self.protoc("decode", "Tree", Data(tree.serialized()))
            #expect(try await Tree(serialized: Array(Self.protoc("encode", "Tree", text))) == tree)
        }
    }

    private static let handwritten = """
        a_double: 1.5 a_float: -2.25 an_int32: -3 an_int64: -4 a_uint32: 5 a_uint64: 6 a_sint32: -7 a_sint64: -8
        a_fixed32: 9 a_fixed64: 10 a_sfixed32: -11 a_sfixed64: -12 a_bool: true a_string: "h\\303\\251" a_bytes: "\\000\\377"
        color: COLOR_DARK_BLUE at {seconds: -1 nanos: 250000000} inner {name: "in" value: -18 kind: KIND_NEGATIVE}
        friend {user_id: "00000000-0000-0000-0000-00000000000a" display_name: "d"} maybe_int32: -21 maybe_uint64: 22
        maybe_double: 0.5 maybe_bool: false maybe_string: "25" maybe_bytes: "26" maybe_color: GREEN shade: COLOR_DEFAULT
        doubles: [1, 2] floats: 0.5 int32s: [-1, 2] int64s: -3 uint32s: 4 uint64s: 5 sint32s: -6 sint64s: -7 fixed32s: 8
        fixed64s: 9 sfixed32s: -10 sfixed64s: -11 bools: [true, false] strings: ["a", ""] byte_strings: ["b", "\\000"]
        colors: [COLOR_RED, GREEN] moments {seconds: 5} inners {name: "x"} inners {} unpacked: [1, -1]
        labels {key: "k" value: "v"} inner_by_number {key: -5 value {name: "five"}} times {key: "t" value {seconds: 7}}
        color_by_flag {key: true value: COLOR_RED} blobs {key: 9 value: "nine"} weights {key: -2 value: 0.25}
        far_away: "far"
        """
    private static let expected = Everything(
        aDouble: 1.5,
        aFloat: -2.25,
        anInt32: -3,
        anInt64: -4,
        aUint32: 5,
        aUint64: 6,
        aSint32: -7,
        aSint64: -8,
        aFixed32: 9,
        aFixed64: 10,
        aSfixed32: -11,
        aSfixed64: -12,
        aBool: true,
        aString: "hé",
        aBytes: [0, 255],
        color: .darkBlue,
        at: Instant(microseconds: -750_000),
        inner: .init(name: "in", value: -18, kind: .negative),
        friend: UserSummary(userID: UserID(high: 0, low: 10), displayName: "d"),
        maybeInt32: -21,
        maybeUint64: 22,
        maybeDouble: 0.5,
        maybeBool: false,
        maybeString: "25",
        maybeBytes: Array("26".utf8),
        maybeColor: .green,
        choice: .shade(.default),
        doubles: [1, 2],
        floats: [0.5],
        int32s: [-1, 2],
        int64s: [-3],
        uint32s: [4],
        uint64s: [5],
        sint32s: [-6],
        sint64s: [-7],
        fixed32s: [8],
        fixed64s: [9],
        sfixed32s: [-10],
        sfixed64s: [-11],
        bools: [true, false],
        strings: ["a", ""],
        byteStrings: [Array("b".utf8), [0]],
        colors: [.red, .green],
        moments: [Instant(seconds: 5)],
        inners: [.init(name: "x"), .init()],
        unpacked: [1, -1],
        labels: ["k": "v"],
        innerByNumber: [-5: .init(name: "five")],
        times: ["t": Instant(seconds: 7)],
        colorByFlag: [true: .red],
        blobs: [9: Array("nine".utf8)],
        weights: [-2: 0.25],
        farAway: "far"
    )

    /// Names and values written by hand: two mistakes that cancel each other cannot hide here.
    @Test func `every field is the one that protoc means`() async throws {
        let bytes = try await Self.protoc("encode", "Everything", Data(Self.handwritten.utf8))
        #expect(try Everything(serialized: Array(bytes)) == Self.expected)
        // protoc writes fields in the order of their numbers, as we do.
        #expect(try Self.expected.serialized() == Array(bytes))
    }
}
