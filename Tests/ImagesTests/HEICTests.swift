import Kernel
import Logging
import Testing

@testable import Images

/// HEICs as phones make them, and such as only an attacker makes.
@Suite struct HEICTests {
    private let processor = ImageProcessor(logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))

    private func refusal(of bytes: [UInt8]) async -> String? {
        do {
            _ = try await processor.renditions(of: bytes)
            return nil
        } catch { return (error as? ServiceError)?.reason ?? "\(error)" }
    }

    private func isBearable(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { HEIFItems.photo(in: $0) }?.withUnsafeBytes { HEIFItems.areWithinLimits($0) } ?? false
    }

    @Test func `a photo as a phone lays it out is read`() async throws {
        let photo = try await processor.renditions(of: HandmadeHEIC().bytes)
        #expect(photo.sourceFormat == .heic)
        #expect(photo.width == 12 * 64 && photo.height == 16 * 64, "turned by a quarter")
        // Behind the last box some cameras put data of their own.
        #expect(await refusal(of: HandmadeHEIC(trailer: Array("SEFT".utf8) + [0, 0, 7]).bytes) == nil)
        #expect(await refusal(of: HandmadeHEIC(trailer: [1]).bytes) == nil)
    }

    @Test func `forty eight megapixels in tiles are within the limits`() {
        // Coded as 512 × 512, a picture of 8064 × 6048 takes 16 by 12 tiles.
        var photo = HandmadeHEIC(canvas: (8_064, 6_048), configuration: Self.configuration(side: 512))
        #expect(isBearable(photo.bytes))
        photo.companionConfiguration = Self.configuration(side: 4_096)
        #expect(isBearable(photo.bytes))
        photo.companionConfiguration = Self.configuration(side: 7_168)
        #expect(isBearable(photo.bytes), "an alpha as large as the photo")
        photo.companionConfiguration = Self.configuration(side: 8_192)
        #expect(!isBearable(photo.bytes), "not a larger one")
        photo.companionConfiguration = HandmadeHEIC.configuration
        photo.configuration = Self.configuration(side: 1_024)
        #expect(!isBearable(photo.bytes))
    }

    @Test func `a picture of ten bits counts twice`() {
        var photo = HandmadeHEIC(columns: 1, rows: 1, configuration: Self.configuration(side: 7_400, depth: 10))
        #expect(isBearable(photo.bytes))
        photo.companionConfiguration = Self.configuration(side: 7_400)
        #expect(!isBearable(photo.bytes), "not with an alpha as large")
        photo.configuration = Self.configuration(side: 7_400)
        #expect(isBearable(photo.bytes))
    }

    /// A configuration whose parameter set states a square and its depth; nothing more of it is right.
    private static func configuration(side: Int, depth: Int = 8) -> [UInt8] {
        var bits: [Bool] = []
        func put(_ value: Int, _ count: Int) { for shift in (0..<count).reversed() { bits.append(value >> shift & 1 == 1) } }
        func code(_ value: Int) {
            let length = (value + 1).bitWidth - (value + 1).leadingZeroBitCount
            put(value + 1, 2 * length - 1)
        }
        put(0x4201, 16)
        put(1, 8)
        // A profile and a level without two zero bytes in a row.
        for _ in 0..<12 { put(0x11, 8) }
        for value in [0, 1, side, side] { code(value) }
        put(0, 1)
        for value in [depth - 8, depth - 8] { code(value) }
        while bits.count % 8 != 0 { put(1, 1) }
        let set = stride(from: 0, to: bits.count, by: 8).map { bits[$0..<$0 + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) } }
        return HandmadeHEIC.configuration[..<22] + [1, 0x21, 0, 1, 0, UInt8(set.count)] + set
    }

    @Test func `a picture that is coded larger than it says is refused`() async throws {
        let set = HandmadeHEIC.largeConfiguration
        #expect(set.count == HandmadeHEIC.configuration.count && set != HandmadeHEIC.configuration)
        #expect(await refusal(of: HandmadeHEIC(configuration: set).bytes) == "IMAGE_UNDECODABLE")
        #expect(await refusal(of: HandmadeHEIC(companionConfiguration: set).bytes) == "IMAGE_UNDECODABLE", "an alpha")
        // A parameter set may come with the pixels as well.
        let start = try #require(set.firstRange(of: [0x42, 0x01, 0x01])).lowerBound
        let inside = [0, 0, 0, 42] + set[start..<start + 42] + HandmadeHEIC.coded
        #expect(await refusal(of: HandmadeHEIC(tile: inside).bytes) == "IMAGE_UNDECODABLE")
        #expect(await refusal(of: HandmadeHEIC(preview: inside).bytes) == nil, "a preview is not decoded")
    }

    @Test func `a parameter set behind lengths that no decoder reads is not overlooked`() async {
        var configuration = HandmadeHEIC.configuration
        configuration[21] &= 0xFC
        #expect(await refusal(of: HandmadeHEIC(configuration: configuration).bytes) == "IMAGE_UNDECODABLE")
        #expect(await refusal(of: HandmadeHEIC(pieces: 2).bytes) == "IMAGE_UNDECODABLE", "nor one cut in two")
    }

    @Test func `a picture that is drawn again and again is refused`() async {
        let coded = HandmadeHEIC.coded
        #expect(await refusal(of: HandmadeHEIC(tile: coded + coded).bytes) == "IMAGE_UNDECODABLE", "two pictures in an item")
        // The second slice of a picture of 7,000 × 7,000, thirty times.
        var slice = coded
        slice[6] &= 0x7F
        let large = Self.configuration(side: 7_000)
        func photo(_ slices: Int) -> HandmadeHEIC {
            HandmadeHEIC(
                columns: 1,
                rows: 1,
                tile: coded + [[UInt8]](repeating: slice, count: slices).joined(),
                configuration: large
            )
        }
        #expect(isBearable(photo(4).bytes))
        #expect(!isBearable(photo(30).bytes))
    }

    @Test func `a canvas larger than it says is refused`() async {
        #expect(await refusal(of: HandmadeHEIC(canvas: (30_000, 30_000)).bytes) == "IMAGE_UNDECODABLE")
        #expect(await refusal(of: HandmadeHEIC(canvas: (.max, .max)).bytes) == "IMAGE_UNDECODABLE")
    }

    @Test func `tiles without end are refused`() async {
        let repeated = [UInt16](repeating: HandmadeHEIC.firstTile, count: 60_000)
        let photo = HandmadeHEIC(references: [("dimg", HandmadeHEIC.grid, repeated)])
        #expect(await refusal(of: photo.bytes) == "IMAGE_UNDECODABLE")
        // The alpha is made from the photo, which has this alpha.
        let circle = HandmadeHEIC(
            references: [("dimg", HandmadeHEIC.alpha, [HandmadeHEIC.grid])],
            alphaType: "iden"
        )
        #expect(await refusal(of: circle.bytes) == "IMAGE_UNDECODABLE")
        // The list says 60,000 more than there are.
        var short = HandmadeHEIC().bytes
        if let list = short.firstRange(of: Array("dimg".utf8)) {
            short.replaceSubrange(list.upperBound + 2..<list.upperBound + 4, with: [0xEA, 0x60])
        }
        #expect(await refusal(of: short) == "IMAGE_UNDECODABLE")
    }

    @Test func `what two readers could take for different things is refused`() async {
        func full(_ type: String, _ body: [UInt8]) -> [UInt8] { HandmadeHEIC.box(type, [0, 0, 0, 0] + body) }
        for extra in [
            full("pitm", [0, 2]), full("iinf", [0, 0]), full("iref", []), full("iloc", [0x44, 0, 0, 0]),
            HandmadeHEIC.box("idat", [UInt8](repeating: 0, count: 12)), HandmadeHEIC.box("iprp", HandmadeHEIC.box("ipco", [])),
        ] {
            #expect(!isBearable(HandmadeHEIC(extras: extra).bytes))
        }
        #expect(isBearable(HandmadeHEIC(extras: HandmadeHEIC.box("free", [1, 2, 3])).bytes))
        #expect(!isBearable(HandmadeHEIC(extras: [0, 0, 0, 0] + Array("free".utf8)).bytes))
        #expect(!isBearable(HandmadeHEIC(trailer: full("meta", [])).bytes + full("meta", [0])))
    }

    @Test func `only HEVC is decoded in a HEIF container`() async {
        #expect(await refusal(of: Fixtures.avif) == "UNSUPPORTED_IMAGE_TYPE")
        var renamed = Fixtures.avif
        renamed.replaceSubrange(8..<12, with: Array("mif1".utf8))
        #expect(await refusal(of: renamed) == "IMAGE_UNDECODABLE")
        #expect(await refusal(of: HandmadeHEIC(tileType: "av01").bytes) == "IMAGE_UNDECODABLE")
    }

    /// A list of 60,000 items with 65,535 places each, whose numbers take no bytes at all.
    @Test func `numbers of no bytes cost nothing`() {
        let entries = (0..<UInt16(60_000)).flatMap { id -> [UInt8] in HandmadeHEIC.big(id) + [0, 0, 0xFF, 0xFF] }
        let places = HandmadeHEIC.box("iloc", [0, 0, 0, 0, 0, 0] + HandmadeHEIC.big(UInt16(60_000)) + entries)
        let meta = HandmadeHEIC.box("meta", [0, 0, 0, 0] + places)
        #expect(!isBearable(HandmadeHEIC.box("ftyp", Array("heic".utf8)) + meta))
    }

    private static let photos = [
        Fixtures.heic, Fixtures.plantedHEIC, Fixtures.p3HEIC, Fixtures.turnedHEIC, HandmadeHEIC(columns: 3, rows: 2).bytes,
        HandmadeHEIC.ofToday.bytes, HandmadeHEIC(columns: 2, rows: 2, hasRecipe: true, isWide: true).bytes,
    ]

    /// Reading boxes never leaves the bytes nor counts beyond what a number holds (either would end the process), whatever they say.
    @Test(arguments: 0..<8) func `damaged boxes are read without harm`(seed: UInt64) {
        var random = Seeded(state: seed)
        var refused = 0
        for _ in 0..<2_000 where !isBearable(random.damaged(random.pick(Self.photos))) { refused += 1 }
        #expect(refused > 100, "the damage does something")
    }

    @Test(arguments: 0..<4) func `a damaged file is read or refused`(seed: UInt64) async {
        var random = Seeded(state: seed)
        for round in 0..<100 {
            let reason = await refusal(of: random.damaged(random.pick(Self.photos)))
            #expect([nil, "IMAGE_UNDECODABLE", "IMAGE_TOO_LARGE", "UNSUPPORTED_IMAGE_TYPE"].contains(reason), "round \(round)")
        }
    }
}

/// Deterministic: a seed that fails fails again.
private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[Int.random(in: 0..<elements.count, using: &self)] }

    /// Bits turned, bytes set to the numbers that overflow, bytes put in or taken out.
    mutating func damaged(_ photo: [UInt8]) -> [UInt8] {
        var bytes = photo
        for _ in 0..<Int.random(in: 1...6, using: &self) {
            let position = Int.random(in: 0..<bytes.count, using: &self)
            switch Int.random(in: 0..<8, using: &self) {
            case 0: bytes.insert(UInt8.random(in: 0...255, using: &self), at: position)
            case 1: bytes.remove(at: position)
            case 2: for index in position..<min(position + 8, bytes.count) { bytes[index] = 0xFF }
            case 3: for index in position..<min(position + 4, bytes.count) { bytes[index] = 0 }
            case 4: bytes[position] = UInt8.random(in: 0...255, using: &self)
            default: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            }
        }
        return bytes
    }
}
