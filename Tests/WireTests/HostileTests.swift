import Testing
import TestingAPI
import Wire

/// Bytes from an attacker: each is refused with a `WireError` or read as some message, and nothing crashes.
@Suite struct HostileTests {
    /// Decodes; what can be decoded must also survive a second round.
    private func feed(_ bytes: [UInt8]) throws {
        do {
            let message = try Everything(serialized: bytes)
            let once = try message.serialized()
            #expect(try Everything(serialized: once).serialized() == once)
        } catch is WireError {}
        do {
            let tree = try Tree(serialized: bytes)
            #expect(try Tree(serialized: tree.serialized()) == tree)
        } catch is WireError {}
    }

    @Test func `every truncation is safe`() throws {
        var samples = Samples(seed: 2)
        for _ in 0..<15 {
            let bytes = try samples.everything().serialized()
            for length in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 150)) { try feed(Array(bytes[..<length])) }
        }
    }

    @Test func `mutations are safe`() throws {
        var samples = Samples(seed: 3)
        for _ in 0..<60 {
            let everything = try samples.everything().serialized()
            let bytes = samples.chance() ? everything : try samples.tree(depth: 4).serialized()
            guard !bytes.isEmpty else { continue }
            for _ in 0..<40 {
                var mutant = bytes
                for _ in 0..<Int.random(in: 1...4, using: &samples.random) {
                    let index = Int.random(in: 0..<mutant.count, using: &samples.random)
                    switch Int.random(in: 0..<3, using: &samples.random) {
                    case 0: mutant[index] = samples.number()
                    case 1: mutant[index] ^= 1 << UInt8.random(in: 0..<8, using: &samples.random)
                    default: mutant.insert(samples.number(), at: index)
                    }
                }
                try feed(mutant)
            }
        }
    }

    @Test func `random bytes are safe`() throws {
        var samples = Samples(seed: 4)
        for _ in 0..<4_000 {
            let count = Int.random(in: 1...60, using: &samples.random)
            try feed((0..<count).map { _ in samples.number() })
        }
    }

    @Test func `nesting is bounded`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            var bytes: [UInt8] = []
            for _ in 1..<depth {
                var writer = WireWriter()
                writer.bytes(bytes, field: 2)
                bytes = writer.bytes
            }
            return bytes
        }
        #expect(throws: Never.self) { try Tree(serialized: nested(WireLimits.maxDepth)) }
        #expect(throws: WireError.tooDeep) { try Tree(serialized: nested(WireLimits.maxDepth + 1)) }
        #expect(throws: WireError.tooDeep) { try Tree(serialized: nested(20_000)) }
        // Through lists, maps, oneofs and other messages too: field numbers from the outside to the next tree.
        for fields in [[3], [4, 2], [5], [7, 1]] {
            var bytes: [UInt8] = []
            for _ in 0..<WireLimits.maxDepth {
                for field in fields.reversed() {
                    var writer = WireWriter()
                    writer.bytes(bytes, field: field)
                    bytes = writer.bytes
                }
            }
            #expect(throws: WireError.tooDeep) { try Tree(serialized: bytes) }
        }
    }

    @Test(
        arguments: [
            ("length beyond the end", [0x72, 0x05, 0x61]),
            ("length of 4 GiB", [0x72, 0xff, 0xff, 0xff, 0xff, 0x0f]),
            ("length of 2^63", [0x72, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
            ("length of 2^64 - 1", [0x72, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
            ("varint without end", [0x18] + [UInt8](repeating: 0xff, count: 12)),
            ("cut off varint", [0x18, 0x80]),
            ("cut off fixed64", [0x51, 1, 2, 3]),
            ("cut off fixed32", [0x4d, 1, 2]),
            ("tag without value", [0x18]),
            ("field number 0", [0x00, 0x01]),
            ("field number beyond 2^29", [0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00]),
            ("start of a group", [0x1b, 0x1c]),
            ("end of a group", [0x1c]),
            ("wire type 6", [0x1e]),
            ("string as varint", [0x70, 0x01]),
            ("number as bytes", [0x1a, 0x01, 0x01]),
            ("message as varint", [0x90, 0x01, 0x01]),
            ("packed doubles of 7 bytes", [0xca, 0x02, 0x07, 0, 0, 0, 0, 0, 0, 0]),
            ("packed varints cut off", [0xda, 0x02, 0x01, 0x80]),
            ("unknown field cut off", [0xa2, 0x06, 0x05, 0x01]),
        ] as [(String, [UInt8])]
    ) func `malformed bytes are refused`(_ what: String, _ bytes: [UInt8]) {
        #expect(throws: WireError.malformed, "\(what)") { try Everything(serialized: bytes) }
    }

    @Test func `a NUL in a string is refused wherever it stands`() throws {
        func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
            var writer = WireWriter()
            writer.bytes(bytes, field: number)
            return writer.bytes
        }
        let text: [UInt8] = [0x61, 0x00, 0x62]
        #expect(throws: WireError.nulInString(field: "a_string")) { try Everything(serialized: field(14, text)) }
        #expect(throws: WireError.nulInString(field: "maybe_string")) { try Everything(serialized: field(25, text)) }
        #expect(throws: WireError.nulInString(field: "text")) { try Everything(serialized: field(32, text)) }
        #expect(throws: WireError.nulInString(field: "strings")) { try Everything(serialized: field(54, text)) }
        #expect(throws: WireError.nulInString(field: "name")) { try Everything(serialized: field(18, field(1, text))) }
        #expect(throws: WireError.nulInString(field: "labels")) { try Everything(serialized: field(61, field(1, text))) }
        #expect(throws: WireError.nulInString(field: "far_away")) { try Everything(serialized: field(5000, text)) }
        #expect(try Everything(serialized: field(15, text)).aBytes == text)
    }

    @Test(
        arguments: [
            [0xff], [0xc0, 0x80], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x61, 0x80],
        ] as [[UInt8]]
    ) func `invalid UTF-8 is refused`(_ text: [UInt8]) {
        func field(_ number: Int) -> [UInt8] {
            var writer = WireWriter()
            writer.bytes(text, field: number)
            return writer.bytes
        }
        #expect(throws: WireError.invalidUTF8(field: "a_string")) { try Everything(serialized: field(14)) }
        #expect(throws: WireError.invalidUTF8(field: "maybe_string")) { try Everything(serialized: field(25)) }
        #expect(throws: WireError.invalidUTF8(field: "strings")) { try Everything(serialized: field(54)) }
    }

    @Test func `timestamps outside their range are refused`() {
        func timestamp(seconds: Int64, nanos: Int64) -> [UInt8] {
            var inner = WireWriter()
            inner.varint(UInt64(bitPattern: seconds), field: 1)
            inner.varint(UInt64(bitPattern: nanos), field: 2)
            var outer = WireWriter()
            outer.bytes(inner.bytes, field: 17)
            return outer.bytes
        }
        for (seconds, nanos) in [(.max, 0), (.min, 0), (253_402_300_800, 0), (0, -1), (0, 1_000_000_000)] as [(Int64, Int64)] {
            #expect(throws: WireError.timestampOutOfRange(field: "at")) {
                try Everything(serialized: timestamp(seconds: seconds, nanos: nanos))
            }
        }
    }

    @Test func `few bytes cannot take much memory`() {
        // Each empty sub-message is two bytes on the wire and some hundred in memory.
        var bytes: [UInt8] = []
        for _ in 0..<2_000_000 { bytes += [0x1a, 0x00] }
        #expect(throws: WireError.tooLarge) { try Tree(serialized: bytes) }
    }
}
