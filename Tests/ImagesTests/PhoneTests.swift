import Foundation
import Kernel
import Logging
import Testing

@testable import Images

/// Photos with what phones and cameras put beside them, and colour profiles that do not fit.
@Suite struct PhoneTests {
    private let processor = ImageProcessor(logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))

    /// Only the verdict: a failing expectation would print the bytes.
    private func look(alike one: [UInt8], _ other: [UInt8]) async throws -> Bool {
        try await processor.renditions(of: one).display == processor.renditions(of: other).display
    }

    @Test func `a photo of an iPhone since iOS 18 is read`() async throws {
        let photo = try await processor.renditions(of: Fixtures.iOS18HEIC)
        #expect(photo.sourceFormat == .heic && photo.width == 512 && photo.height == 384)
        let avatar = try await processor.avatar(of: Fixtures.iOS18HEIC)
        #expect(try #require(JPEGSegments(avatar.large)).size == (width: 512, height: 512))
    }

    /// libheif before 1.18 takes an Exif, an alpha or a preview of two items for damage: Debian 12 has 1.15.1, Ubuntu 24.04 1.17.6, and
    /// bookworm-backports 1.19.7. All read the photo when they are given it alone.
    @Test func `libheif before 1_18 refuses a photo of iOS 18 as it is`() throws {
        try Vips.start()
        // Loads libheif.
        _ = try PosterPainter.decoded(Fixtures.heic, within: 64)
        let library = try #require(dlopen("libheif.so.1", RTLD_LAZY | RTLD_NOLOAD))
        defer { dlclose(library) }
        let symbol = try #require(dlsym(library, "heif_get_version_number"))
        typealias Version = @convention(c) () -> UInt32
        // A byte each for 1, 18 and 0, and one of no meaning.
        let isOld = unsafeBitCast(symbol, to: Version.self)() < 0x0112_0000
        let isRead = (try? PosterPainter.decoded(Fixtures.iOS18HEIC, within: 64)) != nil
        #expect(isRead == !isOld)
        let alone = try #require(Fixtures.iOS18HEIC.withUnsafeBytes { HEIFItems.photo(in: $0) })
        #expect(try PosterPainter.decoded(alone, within: 2_048).width == 512)
    }

    static let layouts: [HandmadeHEIC] = [
        .ofToday, HandmadeHEIC(hasRecipe: true, isWide: true), HandmadeHEIC(hasRecipe: true, isGridInFile: true),
        HandmadeHEIC(hasRecipe: true, primary: HandmadeHEIC.recipe),
        HandmadeHEIC(hasRecipe: true, primary: HandmadeHEIC.recipe, isWide: true, isGridInFile: true), HandmadeHEIC(isWide: true),
        HandmadeHEIC(previewType: "jpeg"), HandmadeHEIC(preview: [0xFF, 0xD8, 0xFF, 0xE0], previewType: "jpeg", hasRecipe: true),
        HandmadeHEIC(previewType: "av01", hasRecipe: true),
        HandmadeHEIC(references: [("cdsc", 90, [1, 2, 3]), ("prem", 1, [2]), ("eroi", 91, [1])]),
    ]

    @Test(arguments: layouts.indices) func `what lies beside a photo does not change how it is seen`(index: Int) async throws {
        let isSame = try await look(alike: Self.layouts[index].bytes, HandmadeHEIC().bytes)
        #expect(isSame)
    }

    @Test func `an alpha that cannot be decoded is left out`() async throws {
        let photo = HandmadeHEIC(alphaType: "av01")
        #expect(try await processor.renditions(of: photo.bytes).width == 12 * 64)
    }

    @Test func `the turn of a HEIC is that of its container, whatever its Exif says`() async throws {
        for orientation: UInt8 in [1, 3, 6, 8] {
            let entry: [UInt8] = [0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0]
            let header: [UInt8] = [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 1, 0]
            let exif = Array("Exif\0\0".utf8) + header + entry + [0, 0, 0, 0]
            let photo = HandmadeHEIC(columns: 3, rows: 2, hasRecipe: true, exifData: exif)
            let made = try await processor.renditions(of: photo.bytes)
            #expect(made.width == 2 * 64 && made.height == 3 * 64, "orientation \(orientation)")
        }
    }

    @Test func `only the photo and its alpha are handed to the decoder`() throws {
        let photo = HandmadeHEIC(columns: 2, rows: 2, hasRecipe: true)
        let file = photo.bytes
        let alone = try #require(file.withUnsafeBytes { HEIFItems.photo(in: $0) })
        let boxes = alone.prefix(alone.count - file.count)
        for type in ["tmap", "Exif", "thmb", "cdsc", "altr", "hdrgainmap"] {
            let isThere = boxes.firstRange(of: Array(type.utf8)) != nil
            #expect(!isThere, "\(type)")
        }
        let hasAlpha = boxes.firstRange(of: Array("auxid:1".utf8)) != nil
        #expect(hasAlpha)
        #expect(alone.suffix(file.count).elementsEqual(file), "the data are found in the file as it was")
        let (whole, same) = (alone, alone.withUnsafeBytes { HEIFItems.photo(in: $0) }?.count ?? 0)
        #expect(same - whole.count == boxes.count, "made again, it is the same photo in a longer file")
    }

    /// A picture that is made from itself would keep a decoder busy until its stack ends, already when it reads the size.
    @Test func `a picture that is made from itself is refused`() {
        for (type, parts) in [
            ("iden", [HandmadeHEIC.alpha]), ("grid", [HandmadeHEIC.alpha, 10]), ("iovl", [HandmadeHEIC.alpha]),
        ] {
            let photo = HandmadeHEIC(
                references: [("dimg", HandmadeHEIC.alpha, parts)],
                alphaType: type,
                primary: HandmadeHEIC.alpha
            )
            #expect(photo.bytes.withUnsafeBytes { HEIFItems.photo(in: $0) } == nil, "\(type)")
        }
    }

    /// The file with the colour space in the header of its profile replaced, and the profile's list of contents destroyed if it is to be damaged.
    private func changed(_ photo: [UInt8], to space: String, isDamaged: Bool = false) throws -> [UInt8] {
        var photo = photo
        let header = try #require(photo.firstRange(of: Array("mntrRGB XYZ ".utf8)))
        photo.replaceSubrange(header.lowerBound + 4..<header.lowerBound + 8, with: Array(space.utf8))
        // The header is 128 bytes, of which the class of the device is the thirteenth and on.
        let list = header.lowerBound - 12 + 128
        if isDamaged { photo.replaceSubrange(list..<list + 100, with: [UInt8](repeating: 0xFF, count: 100)) }
        return photo
    }

    @Test(arguments: ["GRAY", "CMYK", "Lab ", "RGB "]) func `a profile that does not fit is ignored`(space: String) async throws {
        // What their encoders keep of (230, 100, 60), which only a profile makes another colour.
        let photos: [(name: String, bytes: [UInt8], colour: [UInt8])] = [
            ("JPEG", Fixtures.p3JPEG, [229, 100, 60]), ("HEIC", Fixtures.p3HEIC, [229, 100, 60]),
            ("WebP", Fixtures.p3WebP, [230, 100, 60]),
        ]
        for (name, bytes, colour) in photos {
            let photo = try changed(bytes, to: space, isDamaged: space == "RGB ")
            let isIgnored = try await look(alike: photo, HandmadePNG.flat(colour).bytes)
            #expect(isIgnored, "\(name)")
        }
    }

    /// Where the segment of a JPEG with its profile lies.
    private func profile(of photo: [UInt8]) throws -> Range<Int> {
        let start = try #require(photo.firstRange(of: [0xFF, 0xE2])).lowerBound
        return start..<start + 2 + (Int(photo[start + 2]) << 8 | Int(photo[start + 3]))
    }

    @Test func `a grey picture with the profile of a screen is read`() async throws {
        let photo = Fixtures.greyWithColourProfile
        let profile = try self.profile(of: photo)
        let without = Array(photo[..<profile.lowerBound]) + Array(photo[profile.upperBound...])
        let isSame = try await look(alike: photo, without)
        #expect(isSame)
        // libpng itself leaves out a profile that does not fit.
        var grey = HandmadePNG.flat([100])
        let header = [UInt8](repeating: 0, count: 12) + Array("mntrRGB XYZ ".utf8) + [UInt8](repeating: 0, count: 110)
        (grey.colourType, grey.chunks) = (0, [("iCCP", Array("x\0\0".utf8) + header)])
        let isRead = try await look(alike: grey.bytes, HandmadePNG.flat([100, 100, 100]).bytes)
        #expect(isRead)
    }

    @Test func `a print with the profile of a screen is read as one without`() async throws {
        let print = Fixtures.cmykJPEG
        let profile = Array(Fixtures.p3JPEG[try profile(of: Fixtures.p3JPEG)])
        let isSame = try await look(alike: Array(print.prefix(2)) + profile + Array(print.dropFirst(2)), print)
        #expect(isSame)
    }
}
