import BlobStore
import Foundation
import Kernel
import TestSupport
import Testing

@testable import MediaCore

@Suite struct IncomingUploadTests {
    /// Another sending of the same request may have ended and deleted them: that is no fault of the client's.
    @Test func `an upload whose bytes are gone is to be sent again`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("uploads-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let blobs = LocalBlobStore(folder: folder.path, minimumFree: 0, logger: PostgresServer.silence)
        let key = try BlobKey("incoming/photo")
        _ = try await blobs.put(key, [1, 2, 3])
        #expect(try await blobs.readUpload(key) == [1, 2, 3])
        try await blobs.delete(key)
        let error = await #expect(throws: ServiceError.self) { try await blobs.readUpload(key) }
        #expect(error?.code == .unavailable && error?.retryAfter == 1)
    }
}
