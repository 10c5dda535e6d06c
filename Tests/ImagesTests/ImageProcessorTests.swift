import Foundation
import Images
import Kernel
import Logging
import Testing

@Suite struct ImageProcessorTests {
    private let processor = ImageProcessor(logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))

    private func refusal(of bytes: [UInt8]) async -> String? {
        // Only the error: a failing expectation would print the bytes.
        do {
            _ = try await processor.renditions(of: bytes)
            return nil
        } catch { return (error as? ServiceError)?.reason ?? "\(error)" }
    }

    @Test(arguments: [ImageFormat.jpeg, .png, .webp]) func `a photo becomes a display rendition and a thumbnail`(
        format: ImageFormat
    ) async throws {
        let photo = SamplePhoto(seed: 1, width: 2400, height: 1600)
        let bytes =
            switch format {
            case .png: try photo.png()
            case .webp: try photo.webp()
            default: try photo.jpeg()
            }
        #expect(ImageFormat(sniffing: bytes) == format)
        let renditions = try await processor.renditions(of: bytes)
        #expect(renditions.sourceFormat == format)
        #expect(renditions.width == 2048 && renditions.height == 1365)
        let display = try #require(JPEGSegments(renditions.display))
        #expect(display.size == (2048, 1365))
        #expect(try #require(JPEGSegments(renditions.thumbnail)).size == (300, 300))
        #expect(renditions.thumbnail.count < renditions.display.count)
    }

    @Test func `small photos are not enlarged but their thumbnail is full`() async throws {
        let renditions = try await processor.renditions(of: SamplePhoto(seed: 2, width: 90, height: 120).png())
        #expect(renditions.width == 90 && renditions.height == 120)
        #expect(try #require(JPEGSegments(renditions.thumbnail)).size == (300, 300))
    }

    @Test(arguments: [false, true]) func `no metadata survives`(asPNG: Bool) async throws {
        let secret = "home address 17"
        let photo = SamplePhoto(seed: 3, width: 640, height: 480, location: (52.5163, -13.3777), orientation: 6, comment: secret)
        let bytes = try asPNG ? photo.png() : photo.jpeg()
        let isCarried = contains(bytes, secret) || asPNG && contains(bytes, "XML:com.adobe.xmp")
        #expect(isCarried, "the upload must carry what is to be stripped")
        if !asPNG {
            let upload = try #require(JPEGSegments(bytes))
            #expect(
                upload.identifiers.contains("Exif") && upload.identifiers.contains { $0.hasPrefix("http://ns.adobe.com/xap") }
            )
            // The tag GPSLatitude, little-endian: id 2, three rationals.
            let hasLatitude = bytes.firstRange(of: [0x02, 0x00, 0x05, 0x00, 0x03, 0x00, 0x00, 0x00]) != nil
            #expect(hasLatitude)
        }
        let renditions = try await processor.renditions(of: bytes)
        for rendition in [renditions.display, renditions.thumbnail] {
            let segments = try #require(JPEGSegments(rendition))
            #expect(segments.identifiers.allSatisfy { $0 == "JFIF" })
            #expect(!segments.markers.contains(0xFE), "no comments")
            let leaks = contains(rendition, secret) || contains(rendition, "Exif")
            #expect(!leaks)
        }
    }

    @Test func `what phones and printers write is read too`() async throws {
        let heic = try await processor.renditions(of: Fixtures.heic)
        #expect(heic.sourceFormat == .heic && heic.width == 48 && heic.height == 32)
        let print = try await processor.renditions(of: Fixtures.cmykJPEG)
        #expect(print.sourceFormat == .jpeg && print.width == 24 && print.height == 16)
        for rendition in [print.display, print.thumbnail] {
            #expect(try #require(JPEGSegments(rendition)).components == 3, "RGB, which every browser shows")
        }
        let transparent = try await processor.renditions(of: Fixtures.transparentPNG)
        #expect(transparent.width == 20 && transparent.height == 10)
        // What cannot be seen is white, not black: the same as a white photo of that size gives.
        let white = try await processor.renditions(of: Fixtures.whitePNG)
        let isWhite = transparent.display == white.display
        #expect(isWhite)
    }

    @Test func `the library is loaded by the first image`() async {
        await #expect(processExitsWith: .success) {
            func isLoaded() -> Bool { dlopen("libvips.so.42", RTLD_LAZY | RTLD_NOLOAD) != nil }
            let processor = ImageProcessor(logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
            guard !isLoaded() else { exit(EXIT_FAILURE) }
            let photo = try SamplePhoto(seed: 1, width: 8, height: 8).jpeg()
            _ = try await processor.renditions(of: photo)
            exit(isLoaded() ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test(arguments: 1...8) func `orientation is applied`(orientation: Int) async throws {
        let renditions = try await processor.renditions(
            of: SamplePhoto(seed: 4, width: 320, height: 200, orientation: orientation).jpeg()
        )
        let isTurned = orientation >= 5
        #expect(renditions.width == (isTurned ? 200 : 320) && renditions.height == (isTurned ? 320 : 200))
    }

    @Test func `the type is decided from the bytes`() async throws {
        let text = Array("just text, called photo.jpg".utf8)
        let svg = Array("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"10\" height=\"10\"/>".utf8)
        let gif = Array("GIF89a".utf8) + [UInt8](repeating: 0, count: 40)
        for bytes in [[], [0xFF], text, svg, gif, Array("%PDF-1.4".utf8)] {
            #expect(await refusal(of: bytes) == "UNSUPPORTED_IMAGE_TYPE")
        }
    }

    @Test func `damaged images are refused`() async throws {
        let photo = SamplePhoto(seed: 5, width: 800, height: 600)
        for whole in [try photo.jpeg(), try photo.png(), try photo.webp()] {
            for part in [20, whole.count / 10, whole.count / 2, whole.count * 9 / 10] {
                let reason = await refusal(of: Array(whole.prefix(part)))
                #expect(reason == "IMAGE_UNDECODABLE", "\(part) of \(whole.count) bytes")
            }
        }
        #expect(await refusal(of: [0xFF, 0xD8, 0xFF] + [UInt8](repeating: 0x41, count: 500)) == "IMAGE_UNDECODABLE")
        #expect(
            await refusal(of: [0, 0, 0, 24] + Array("ftypheic".utf8) + [UInt8](repeating: 0, count: 99)) == "IMAGE_UNDECODABLE"
        )
    }

    /// Only the header says so: were it decoded, it would be undecodable.
    @Test func `too many pixels are refused before decoding`() async throws {
        var png = try SamplePhoto(seed: 6, width: 16, height: 16).png()
        func claim(width: UInt32, height: UInt32) {
            let header = Array("IHDR".utf8) + bigEndian(width) + bigEndian(height) + png[24..<29]
            png.replaceSubrange(12..<33, with: header + bigEndian(crc32(header)))
        }
        claim(width: 11_201, height: 5_000)
        #expect(await refusal(of: png) == "IMAGE_TOO_LARGE")
        claim(width: 11_200, height: 5_000)
        #expect(await refusal(of: png) == "IMAGE_UNDECODABLE")
    }

    @Test func `a PNG that would cost seconds to unpack is refused before decoding`() async throws {
        /// Only the header says what it would be.
        func claiming(_ side: UInt32, _ depth: UInt8, _ colours: UInt8, interlaced: Bool) -> [UInt8] {
            var png = HandmadePNG.quarters().bytes
            let size = withUnsafeBytes(of: side.bigEndian) { Array($0) }
            let header = Array("IHDR".utf8) + size + size + [depth, colours, 0, 0, interlaced ? 1 : 0]
            png.replaceSubrange(8..<33, with: HandmadePNG.chunk("IHDR", Array(header.dropFirst(4))))
            return png
        }
        // 49 megapixels of 8 bytes, gone through seven times: seven seconds of a processor for a small file.
        #expect(await refusal(of: claiming(7_000, 16, 6, interlaced: true)) == "IMAGE_TOO_LARGE")
        #expect(await refusal(of: claiming(7_000, 16, 6, interlaced: false)) == "IMAGE_TOO_LARGE")
        #expect(await refusal(of: claiming(7_000, 8, 6, interlaced: true)) == "IMAGE_TOO_LARGE")
        // As large as photos are, they are decoded, and found to be damaged.
        #expect(await refusal(of: claiming(7_000, 8, 6, interlaced: false)) == "IMAGE_UNDECODABLE")
        #expect(await refusal(of: claiming(3_900, 16, 6, interlaced: true)) == "IMAGE_UNDECODABLE")
    }

    @Test func `random damage never does worse than a refusal`() async throws {
        let whole = try SamplePhoto(seed: 7, width: 200, height: 150, location: (1, 2), comment: "c").jpeg()
        var state: UInt64 = 42
        for _ in 0..<150 {
            var bytes = whole
            for _ in 0..<4 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes[Int(state >> 33) % bytes.count] = UInt8(truncatingIfNeeded: state >> 20)
            }
            do {
                #expect(try await processor.renditions(of: bytes).width <= 2048)
            } catch let error as ServiceError {
                #expect(error.code == .invalidArgument)
            }
        }
    }

    @Test func `a file gives the same as its bytes`() async throws {
        let bytes = try SamplePhoto(seed: 8, width: 300, height: 200).jpeg()
        let path = FileManager.default.temporaryDirectory.appending(path: "photo-\(ProcessInfo.processInfo.processIdentifier)")
            .path
        try Data(bytes).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let isSame = try await processor.renditions(ofFile: path) == processor.renditions(of: bytes)
        #expect(isSame)
    }

    @Test func `overload is refused at once`() async throws {
        let small = ImageProcessor(threads: 1, queueLimit: 1, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let bytes = try SamplePhoto(seed: 9, width: 2400, height: 1800).jpeg()
        let codes = await withTaskGroup(of: ServiceError.Code?.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    do {
                        _ = try await small.renditions(of: bytes)
                        return nil
                    } catch { return (error as? ServiceError)?.code ?? .unknown }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.filter { $0 == nil }.count >= 2)
        #expect(codes.contains(.unavailable) && codes.allSatisfy { $0 == nil || $0 == .unavailable })
    }

    @Test func `the same seed gives the same photo`() throws {
        let photos = try [1, 1, 2].map { try SamplePhoto(seed: $0, width: 64, height: 64).jpeg() }
        let isSame = photos[0] == photos[1]
        let isOther = photos[0] != photos[2]
        #expect(isSame && isOther)
    }

    private func contains(_ bytes: [UInt8], _ text: String) -> Bool { bytes.firstRange(of: Array(text.utf8)) != nil }

    private func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    private func crc32(_ bytes: [UInt8]) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
