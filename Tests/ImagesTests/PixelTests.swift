import Images
import Logging
import Testing

/// That what is stored looks like what was uploaded. Two uploads that look the same give the same bytes.
@Suite struct PixelTests {
    private let processor = ImageProcessor(logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))

    /// Only the verdict: a failing expectation would print the bytes.
    private func look(alike one: [UInt8], _ other: [UInt8]) async throws -> Bool {
        let (first, second) = (try await processor.renditions(of: one), try await processor.renditions(of: other))
        return first.display == second.display && first.thumbnail == second.thumbnail
    }

    @Test(arguments: 1...8) func `every orientation is seen as it was meant`(orientation: Int) async throws {
        let photo = HandmadePNG.quarters()
        let isUpright = try await look(alike: photo.orientated(UInt8(orientation)).bytes, photo.seen(orientation).bytes)
        #expect(isUpright)
        let isTheSame = try await look(alike: photo.bytes, photo.seen(orientation).bytes)
        #expect(isTheSame == (orientation == 1), "the test can distinguish them")
    }

    @Test(arguments: 1...8) func `an orientation behind the pixels of a PNG counts too`(orientation: Int) async throws {
        let photo = HandmadePNG.quarters()
        let isUpright = try await look(
            alike: photo.orientated(UInt8(orientation), isLate: true).bytes,
            photo.seen(orientation).bytes
        )
        #expect(isUpright)
        // The first one counts, wherever it lies.
        let both = photo.orientated(UInt8(orientation)).orientated(3, isLate: true).orientated(5, isLate: true)
        let isFirst = try await look(alike: both.bytes, photo.seen(orientation).bytes)
        #expect(isFirst)
    }

    @Test func `a turn of the container is made once`() async throws {
        let turned = try await look(alike: Fixtures.turnedHEIC, Fixtures.turnedPNG)
        #expect(turned)
        let twice = try await look(alike: Fixtures.turnedTwiceHEIC, Fixtures.turnedPNG)
        #expect(twice)
        let mirrored = try await look(alike: Fixtures.mirroredHEIC, Fixtures.mirroredPNG)
        #expect(mirrored)
    }

    @Test func `every kind of pixel becomes RGB`() async throws {
        let quarters = HandmadePNG.quarters()
        var deep = quarters
        (deep.bitDepth, deep.pixels) = (16, quarters.pixels.map { $0.flatMap { [$0, $0] } })
        var palette = quarters
        palette.chunks = [("PLTE", HandmadePNG.colours.flatMap { $0 })]
        (palette.colourType, palette.pixels) = (3, (0..<24 * 16).map { [UInt8(HandmadePNG.quarter($0, 24, 16))] })
        for same in [deep, palette] {
            let isSame = try await look(alike: same.bytes, quarters.bytes)
            #expect(isSame, "colour type \(same.colourType), depth \(same.bitDepth)")
        }
        var grey = HandmadePNG.flat([100])
        grey.colourType = 0
        let isGrey = try await look(alike: grey.bytes, HandmadePNG.flat([100, 100, 100]).bytes)
        #expect(isGrey)
        #expect(try #require(JPEGSegments(try await processor.renditions(of: grey.bytes).display)).components == 3)
    }

    @Test func `what is transparent is white`() async throws {
        var (grey, clear) = (HandmadePNG.flat([0, 0]), HandmadePNG.flat([9, 9, 9, 0]))
        var half = HandmadePNG.flat([55, 55, 55, 51])
        (grey.colourType, clear.colourType, half.colourType) = (4, 6, 6)
        var keyed = HandmadePNG.flat([1, 2, 3])
        keyed.chunks = [("tRNS", [0, 1, 0, 2, 0, 3])]
        for image in [grey, clear, keyed] {
            let isWhite = try await look(alike: image.bytes, HandmadePNG.flat([255, 255, 255]).bytes)
            #expect(isWhite, "colour type \(image.colourType)")
        }
        // A fifth of 55 and four fifths of 255.
        let isMixed = try await look(alike: half.bytes, HandmadePNG.flat([215, 215, 215]).bytes)
        #expect(isMixed)
    }

    @Test func `a wide gamut is converted and its profile taken out`() async throws {
        let isRight = try await look(alike: Fixtures.p3PNG, HandmadePNG.flat([248, 89, 44]).bytes)
        #expect(isRight)
        let lossless = try await look(alike: Fixtures.p3WebP, Fixtures.p3PNG)
        #expect(lossless)
        // What their encoders keep of (230, 100, 60) is (229, 100, 60).
        let coded = try await look(alike: Fixtures.p3JPEG, HandmadePNG.flat([247, 89, 44]).bytes)
        #expect(coded)
        let phone = try await look(alike: Fixtures.p3HEIC, HandmadePNG.flat([247, 89, 44]).bytes)
        #expect(phone)
        for upload in [Fixtures.p3JPEG, Fixtures.p3PNG, Fixtures.p3HEIC, Fixtures.p3WebP] {
            let renditions = try await processor.renditions(of: upload)
            let segments = try #require(JPEGSegments(renditions.display))
            #expect(segments.identifiers.allSatisfy { $0 == "JFIF" }, "\(segments.identifiers)")
        }
    }

    @Test func `of an animation the first frame is taken`() async throws {
        let isFirst = try await look(alike: Fixtures.animatedWebP, HandmadePNG.quarters().bytes)
        #expect(isFirst)
    }

    @Test func `an avatar is a square of what draws the eye`() async throws {
        // Grey, with a patch at the right end that is of another colour.
        var wide = HandmadePNG.flat([128, 128, 128], width: 400, height: 100)
        for y in 20..<80 {
            for x in 320..<380 { wide.pixels[y * 400 + x] = (x + y) % 2 == 0 ? [230, 150, 120] : [200, 120, 90] }
        }
        let avatar = try await processor.avatar(of: wide.bytes)
        #expect(try #require(JPEGSegments(avatar.large)).size == (512, 512))
        #expect(try #require(JPEGSegments(avatar.small)).size == (128, 128))
        let nothing = try await processor.avatar(of: HandmadePNG.flat([128, 128, 128], width: 400, height: 100).bytes)
        #expect(avatar.large.count > nothing.large.count, "the patch is on it")
    }
}
