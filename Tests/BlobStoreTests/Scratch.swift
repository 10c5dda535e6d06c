import BlobStore
import Foundation
import Kernel
import Logging
import Processes
import Testing

/// A folder of this test alone, removed at its end.
func withScratchFolder(_ body: (String) async throws -> Void) async throws {
    let path = try makeTemporaryFolder("blobs-")
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}

/// A fresh store in a folder of this test alone.
func withStore(minimumFree: Int64 = 0, _ body: (LocalBlobStore) async throws -> Void) async throws {
    try await withScratchFolder { folder in
        try await body(LocalBlobStore(folder: folder + "/blobs", minimumFree: minimumFree, logger: silent))
    }
}

let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// Every file below a folder, also those that are no blobs.
func files(below folder: String) -> [String] {
    let entries = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return entries.filter {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: "\(folder)/\($0)", isDirectory: &isFolder) && !isFolder.boolValue
    }.sorted()
}

/// Chunks of given bytes, then the end or an error.
func chunks(_ chunks: [[UInt8]], then error: (any Error)? = nil) -> AsyncThrowingStream<[UInt8], any Error> {
    AsyncThrowingStream { continuation in
        for chunk in chunks { continuation.yield(chunk) }
        continuation.finish(throwing: error)
    }
}

/// The reason of the error that `body` throws, or its type; nil for none.
func reason(_ body: () async throws -> Void) async -> String? {
    do {
        try await body()
        return nil
    } catch { return (error as? ServiceError)?.reason ?? "\(type(of: error))" }
}
