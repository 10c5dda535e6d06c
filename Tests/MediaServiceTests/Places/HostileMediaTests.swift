import BlobStore
import CommonAPI
import Database
import Foundation
import Kernel
import MediaAPI
import TestSupport
import Testing

@testable import MediaPlaces
@testable import ServiceRuntime

/// Broken, bombing and lying pictures and videos: each is refused for a reason that says what is wrong, and nothing of it is kept.
@Suite(.timeLimit(.minutes(20))) struct HostileMediaTests {
    private static let reasons: [Bool: Set<String>] = [
        false: ["UNSUPPORTED_IMAGE_TYPE", "IMAGE_TOO_LARGE", "IMAGE_UNDECODABLE"],
        true: ["UNSUPPORTED_VIDEO_TYPE", "VIDEO_TOO_LONG", "VIDEO_TOO_LARGE", "VIDEO_UNDECODABLE"],
    ]

    /// How a file is refused; nil when it is posted.
    private static func refusal(of file: HostileFile, in world: PlaceWorld) async throws -> String? {
        let key = try BlobKey("incoming/\(UUID().uuidString.lowercased())")
        _ = try await world.blobs.put(key, file.bytes)
        let blob = CommonAPI.Blob(key: key.description, size: UInt64(file.bytes.count), sha256: file.name)
        let request = CreatePostRequest(
            photo: file.isVideo ? nil : blob,
            latitude: 1,
            longitude: 1,
            video: file.isVideo ? blob : nil
        )
        var reason: String?
        do {
            _ = try await world.newPosts.create(
                request,
                from: key,
                by: PlaceWorld.user(1),
                PlaceWorld.context(PlaceWorld.user(1))
            )
        } catch { reason = (error as? ServiceError)?.reason ?? "\(error)" }
        try await world.blobs.delete(key)
        return reason
    }

    @Test func `two hundred hostile files are refused, and nothing of them is kept`() async throws {
        let files = try await HostileFile.all()
        #expect(files.count >= 200)
        try await PlaceWorld.with { world in
            let wrong = try await withThrowingTaskGroup(of: String?.self) { group in
                for part in 0..<3 {
                    group.addTask {
                        var wrong: [String] = []
                        for file in files.enumerated().filter({ $0.offset % 3 == part }).map(\.element) {
                            let reason = try await Self.refusal(of: file, in: world)
                            let isRight =
                                file.reason.map { $0 == reason }
                                ?? reason.map { Self.reasons[file.isVideo]?.contains($0) ?? false }
                            if isRight != true { wrong.append("\(file.name): \(reason ?? "posted")") }
                        }
                        return wrong.isEmpty ? nil : wrong.joined(separator: "\n")
                    }
                }
                return try await group.reduce(into: [String]()) { if let more = $1 { $0.append(more) } }
            }
            #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
            for table: Query in ["place_post", "place_upload", "place_removed_post", "place_vote", "place_past_score"] {
                #expect(try await world.count(table) == 0)
            }
            #expect(try await world.blobs.list(prefix: "", after: nil, limit: 10).isEmpty)
            try await eventually("nothing is left in the working folder") {
                try FileManager.default.contentsOfDirectory(atPath: world.videoFolder.path).isEmpty
            }
        }
    }
}
