import Foundation
import Kernel
import Logging
import TestSupport
import Testing

@testable import BlobStore

/// Every kind of store there is.
enum StoreKind: String, CaseIterable, Sendable {
    case local, s3
}

/// A fresh store of one kind, of this test alone.
func withStore(_ kind: StoreKind, _ body: (any BlobStore) async throws -> Void) async throws {
    switch kind {
    case .local: try await withStore { try await body($0) }
    case .s3: try await body(try await S3Stores.fresh())
    }
}

/// Stores in a bucket of a server that the tests share.
enum S3Stores {
    static let bucket = "conformance"
    static let server = Task { try await S3Server.start(buckets: [bucket, "another-bucket"]) }

    static func fresh(logger: Logger = silent) async throws -> S3BlobStore {
        try store(at: try await server.value, prefix: try BlobKey("tests/\(UUID().uuidString)"), logger: logger)
    }

    static func store(
        at server: S3Server,
        host: String = "127.0.0.1",
        pathStyle: Bool = true,
        bucket: String = Self.bucket,
        secret: String? = nil,
        prefix: BlobKey? = nil,
        retries: S3Retries = .patient(attempts: 4),
        logger: Logger = silent
    ) throws -> S3BlobStore {
        try S3BlobStore(
            S3Address(endpoint: "http://\(host):\(server.port)", region: "us-east-1", bucket: bucket, pathStyle: pathStyle),
            signer: SigV4(
                credentials: SigV4.Credentials(keyID: server.key, secret: secret ?? server.secret),
                region: "us-east-1"
            ),
            prefix: prefix,
            spoolFolder: NSTemporaryDirectory(),
            connections: 8,
            retries: retries,
            logger: logger
        )
    }
}

extension S3Retries {
    /// Asks again soon, and waits as long as a busy machine needs.
    static func patient(attempts: Int) -> S3Retries {
        S3Retries(timeout: .seconds(60), attempts: attempts, within: .seconds(200), firstPause: .milliseconds(2))
    }
}
