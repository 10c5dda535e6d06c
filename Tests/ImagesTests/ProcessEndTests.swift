import Foundation
import Images
import Processes
import TestSupport
import Testing

/// The end of a process in which images are being made: destructors of the image library run then, and a thread that still decoded crashed.
struct ProcessEndTests {
    @Test func `a process that ends while images are decoded and painted exits as asked, and does not crash`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "image-end-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let sample = SamplePhoto(seed: 5, width: 320, height: 240)
        let photos = [
            ("heic", Fixtures.heic), ("jpg", try sample.jpeg()), ("png", try sample.png()), ("webp", try sample.webp()),
        ]
        .map { (folder.appending(path: "photo.\($0.0)"), $0.1) }
        for (file, bytes) in photos { try Data(bytes).write(to: file) }
        for _ in 0..<8 {
            // HEIC three times: its list of decoders is what is taken down first.
            let files = [photos[0], photos[0], photos[0]] + photos
            let result = try await run(try builtProgram("image-victim").path, files.map(\.0.path), within: .seconds(60))
            #expect(result.status == 7, "\(result.transcript)")
        }
    }
}
