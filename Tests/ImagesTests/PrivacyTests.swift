import Images
import Logging
import Testing

/// PH-2: nothing that a photo says about its maker is stored, whatever part of the file says it.
@Suite struct PrivacyTests {
    private let processor = ImageProcessor(logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))

    static let photos = [
        Fixtures.plantedJPEG, Fixtures.plantedPNG, Fixtures.plantedWebP, Fixtures.plantedHEIC,
    ]

    /// Where libvips, exiftool and readers of raw bytes would find something.
    private static let traces = [
        Fixtures.planted, "PLANTED", "Exif", "http://ns.adobe.com", "xmpmeta", "8BIM", "ICC_PROFILE", "GPS",
    ]

    @Test(arguments: photos.indices) func `nothing planted is in anything that is stored`(index: Int) async throws {
        let photo = Self.photos[index]
        let isPlanted = contains(photo, Fixtures.planted)
        #expect(isPlanted, "the upload must carry what is to be removed")
        let renditions = try await processor.renditions(of: photo)
        #expect(renditions.sourceFormat == ImageFormat.allCases[index])
        let avatar = try await processor.avatar(of: photo)
        for stored in [renditions.display, renditions.thumbnail, avatar.large, avatar.small] {
            for trace in Self.traces {
                let isThere = contains(stored, trace)
                #expect(!isThere, "\(trace) of \(renditions.sourceFormat)")
            }
            let segments = try #require(JPEGSegments(stored))
            // JFIF and what decoding needs: no APP1…APP15, no comment.
            #expect(segments.markers.allSatisfy { $0 == 0xE0 || !(0xE0...0xEF).contains($0) && $0 != 0xFE })
            #expect(segments.identifiers.allSatisfy { $0 == "JFIF" })
        }
    }

    private func contains(_ bytes: [UInt8], _ text: String) -> Bool { bytes.firstRange(of: Array(text.utf8)) != nil }
}
