import Kernel
import Logging
import Testing

@testable import Images

/// Files made to break a decoder: refused, and cheaply.
@Suite struct HostileTests {
    private let processor = ImageProcessor(logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))

    private func refusal(of bytes: [UInt8]) async -> String? {
        do {
            _ = try await processor.renditions(of: bytes)
            return nil
        } catch { return (error as? ServiceError)?.reason ?? "\(error)" }
    }

    @Test func `a file that ends early is refused in every format`() async throws {
        let whole = PrivacyTests.photos + [Fixtures.heic, Fixtures.p3WebP, HandmadePNG.quarters().bytes]
        for photo in whole {
            #expect(await refusal(of: photo) == nil)
            for part in [13, photo.count / 4, photo.count / 2] {
                let reason = await refusal(of: Array(photo.prefix(part)))
                #expect(reason == "IMAGE_UNDECODABLE", "\(part) of \(photo.count) bytes: \(reason ?? "accepted")")
            }
        }
    }

    @Test func `too many pixels are refused in every format`() async throws {
        var jpeg = Fixtures.plantedJPEG
        let frame = try #require(jpeg.firstRange(of: [0xFF, 0xC0]))
        jpeg.replaceSubrange(frame.lowerBound + 5..<frame.lowerBound + 9, with: [0x2B, 0xC1, 0x13, 0x88])
        var webp = Fixtures.plantedWebP
        let canvas = try #require(webp.firstRange(of: Array("VP8X".utf8)))
        // 16,000 × 16,000, the canvas and the picture on it.
        webp.replaceSubrange(canvas.lowerBound + 12..<canvas.lowerBound + 18, with: [0x7F, 0x3E, 0, 0x7F, 0x3E, 0])
        let lossless = try #require(webp.firstRange(of: Array("VP8L".utf8)))
        webp.replaceSubrange(lossless.lowerBound + 9..<lossless.lowerBound + 13, with: [0x7F, 0xFE, 0x9F, 0x0F])
        let claims = [jpeg, webp, claiming(Fixtures.heic)]
        for (format, bytes) in zip(["jpeg", "webp", "heic"], claims) {
            #expect(await refusal(of: bytes) == "IMAGE_TOO_LARGE", "\(format)")
        }
    }

    /// The sizes of all its items are said to be 11,201 × 5,000.
    private func claiming(_ photo: [UInt8]) -> [UInt8] {
        var photo = photo
        var position = 0
        while let size = photo[position...].firstRange(of: Array("ispe".utf8)) {
            photo.replaceSubrange(size.upperBound + 4..<size.upperBound + 12, with: [0, 0, 0x2B, 0xC1, 0, 0, 0x13, 0x88])
            position = size.upperBound
        }
        return photo
    }

    @Test func `a wrong checksum is refused`() async throws {
        var png = HandmadePNG.quarters().bytes
        let pixels = try #require(png.firstRange(of: Array("IDAT".utf8)))
        png[pixels.upperBound + 20] ^= 0x10
        #expect(await refusal(of: png) == "IMAGE_UNDECODABLE")
    }

    /// A progressive JPEG of 16 × 16 pixels that is gone over again and again, a coefficient and bit at a time.
    private func scanned(_ times: Int) -> [UInt8] {
        func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
            [0xFF, marker, UInt8((body.count + 2) >> 8), UInt8((body.count + 2) & 255)] + body
        }
        var bytes: [UInt8] = [0xFF, 0xD8] + segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
        bytes += segment(0xC2, [8, 0, 16, 0, 16, 1, 1, 0x11, 0])
        // One code each, the bit 0: no difference of brightness, and “this band ends here”.
        bytes += segment(0xC4, [0x00, 1] + [UInt8](repeating: 0, count: 15) + [0x00])
        bytes += segment(0xC4, [0x10, 1] + [UInt8](repeating: 0, count: 15) + [0x00])
        bytes += segment(0xDA, [1, 1, 0, 0, 0, 0]) + [0x0F]
        for scan in 0..<times {
            let (band, bit) = (UInt8(1 + scan / 10), UInt8(scan % 10))
            let bits = bit == 0 ? 9 : (10 - bit) << 4 | (9 - bit)
            bytes += segment(0xDA, [1, 1, 0, band, band, bits]) + [0x0F]
        }
        return bytes + [0xFF, 0xD9]
    }

    /// A photo with so many more segments of metadata, all empty.
    private func segmented(_ photo: [UInt8], _ marker: UInt8, _ count: Int) -> [UInt8] {
        photo[..<2] + (0..<count).flatMap { _ in [0xFF, marker, 0, 2] } + photo[2...]
    }

    @Test(.timeLimit(.minutes(1)), arguments: [UInt8(0xE1), 0xE2, 0xED, 0xEE, 0xFE])
    func `a JPEG of nothing but segments is refused before any of it is read`(marker: UInt8) async {
        #expect(await refusal(of: segmented(Fixtures.plantedJPEG, marker, 1_000)) == nil, "such files are legal")
        // Two and a half million would keep libjpeg busy for hours.
        #expect(await refusal(of: segmented(Fixtures.plantedJPEG, marker, 2_500_000)) == "IMAGE_UNDECODABLE")
    }

    @Test(.timeLimit(.minutes(1)), arguments: [[4_000, 1], [1, 4_000], [65_000, 3]])
    func `a picture that is a line becomes a square of its middle, without filling memory`(size: [Int]) async throws {
        let (middle, edge): ([UInt8], [UInt8]) = ([30, 200, 30], [220, 30, 30])
        let longest = max(size[0], size[1])
        let pixels = (0..<size[0] * size[1]).map { index in
            let place = size[0] > 1 ? index % size[0] : index
            return abs(place - longest / 2) < longest / 10 ? middle : edge
        }
        let png = HandmadePNG(width: size[0], height: size[1], pixels: pixels).bytes
        let made = try await processor.renditions(of: png)
        let avatar = try await processor.avatar(of: png)
        for (square, side) in [(made.thumbnail, 300), (avatar.large, 512), (avatar.small, 128)] {
            let segments = try #require(JPEGSegments(square))
            #expect(segments.size == (width: side, height: side))
        }
        #expect(max(made.width, made.height) == 2_048)
    }

    @Test func `texts of a PNG are not unpacked`() async throws {
        var png = HandmadePNG.quarters()
        png.chunks = [("tEXt", Array("Title\0here".utf8))]
        #expect(await refusal(of: png.bytes) == nil)
        let texts = png.bytes.withUnsafeBytes { PNGChunks.rearranged($0) }
        #expect(texts == HandmadePNG.quarters().bytes)
        #expect(HandmadePNG.quarters().bytes.withUnsafeBytes { PNGChunks.rearranged($0) } == nil)
        // Of one that ends early nothing is lost.
        for length in 0...png.bytes.count {
            let part = Array(png.bytes.prefix(length))
            let rest = part.withUnsafeBytes { PNGChunks.rearranged($0) }
            #expect(rest.map { $0.count < length } ?? true)
        }
    }

    @Test func `a WebP of very many frames is refused`() {
        func moving(_ frames: Int) -> [UInt8] {
            let frame = Array("ANMF".utf8) + [16, 0, 0, 0] + [UInt8](repeating: 0, count: 16)
            return Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP".utf8) + (0..<frames).flatMap { _ in frame }
        }
        #expect(moving(2_000).withUnsafeBytes { WebPFrames.areFew($0) })
        #expect(!moving(2_001).withUnsafeBytes { WebPFrames.areFew($0) })
        #expect(Fixtures.plantedWebP.withUnsafeBytes { WebPFrames.areFew($0) })
    }

    @Test func `a JPEG that is gone over without end is refused`() async throws {
        #expect(await refusal(of: scanned(20)) == nil, "such files are legal")
        #expect(await refusal(of: scanned(99)) == nil)
        #expect(await refusal(of: scanned(100)) == "IMAGE_UNDECODABLE")
        #expect(await refusal(of: scanned(600)) == "IMAGE_UNDECODABLE")
    }
}
