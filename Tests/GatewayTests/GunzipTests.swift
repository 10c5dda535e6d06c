import Gzip
import Testing

/// Reading gzip as it arrives.
struct GunzipTests {
    private static func read(_ pieces: [ArraySlice<UInt8>], limit: Int = 1 << 20) throws(GunzipError) -> [UInt8] {
        var gunzip = try Gunzip(limit: limit)
        for piece in pieces {
            let result: Result<Void, GunzipError> = piece.withUnsafeBytes { bytes in
                do throws(GunzipError) { return .success(try gunzip.consume(bytes)) } catch { return .failure(error) }
            }
            try result.get()
        }
        try gunzip.finish()
        return gunzip.content
    }

    private static func content(_ dice: inout Dice) -> [UInt8] {
        let (count, letters) = (dice.roll(120_000), 1 + dice.roll(256))
        return (0..<count).map { _ in UInt8(dice.roll(letters)) }
    }

    @Test(arguments: 0..<6) func `however a stream is split, it means the same`(seed: Int) async throws {
        var dice = Dice(seed)
        let content = Self.content(&dice)
        let packed = try await BodyTests.gzip(content)
        for longest in [1, 7, 1_000, packed.count] {
            var pieces: [ArraySlice<UInt8>] = []
            var rest = packed[...]
            while !rest.isEmpty {
                pieces.append(rest.prefix(1 + dice.roll(longest)))
                rest = rest.dropFirst(pieces.last?.count ?? 1)
            }
            #expect(try Self.read(pieces) == content)
        }
    }

    @Test(arguments: 0..<6) func `what is compressed reads the same, and is smaller where it repeats itself`(seed: Int) throws {
        var dice = Dice(seed)
        let content = seed == 0 ? [] : Self.content(&dice)
        let packed = try #require(Gzip.compress(content))
        #expect(try Self.read([packed[...]]) == content)
        let many = [UInt8](repeating: 7, count: 100_000)
        #expect(try #require(Gzip.compress(many)).count < 1_000)
    }

    @Test func `members in a row are one content`() async throws {
        let (one, two) = (try await BodyTests.gzip(Array("one ".utf8)), try await BodyTests.gzip(Array("two".utf8)))
        #expect(try Self.read([(one + two)[...]]) == Array("one two".utf8))
        #expect(try Self.read([one[...], two[...]]) == Array("one two".utf8))
        #expect(try Self.read([]) == [])
    }

    @Test func `a stream that ends early or is changed is refused`() async throws {
        let packed = try await BodyTests.gzip(Array(String(repeating: "some text, ", count: 50).utf8))
        for length in 1..<packed.count {
            #expect(throws: GunzipError.truncated) { try Self.read([packed.prefix(length)]) }
        }
        // The last eight bytes are the checksum and the length.
        for index in [0, 1, 2] + Array((packed.count - 8)..<packed.count) {
            var damaged = packed
            damaged[index] ^= 0x40
            #expect(throws: GunzipError.corrupt, "byte \(index)") { try Self.read([damaged[...]]) }
        }
        #expect(throws: GunzipError.corrupt) { try Self.read([(packed + [0, 0])[...]]) }
    }

    @Test func `content may have as many bytes as the limit, and not one more`() async throws {
        let packed = try await BodyTests.gzip([UInt8](repeating: 0, count: 100_000))
        #expect(try Self.read([packed[...]], limit: 100_000).count == 100_000)
        #expect(throws: GunzipError.tooLarge) { try Self.read([packed[...]], limit: 99_999) }
        #expect(throws: GunzipError.tooLarge) { try Self.read([packed[...]], limit: 0) }
    }
}
