import BlobConfiguration
import Foundation
import Kernel
import OutgoingHTTP
import Runtime
import TestSupport
import Testing

@testable import BlobStore

/// The store against moto's server, which checks signatures, and its settings.
@Suite(.timeLimit(.minutes(10)))
struct S3BlobStoreTests {
    private func key(_ text: String) throws -> BlobKey { try BlobKey(text) }

    @Test func `links lead straight to the store`() async throws {
        let server = try await S3Server.start(buckets: [S3Stores.bucket], checksLinks: true)
        let store = try S3Stores.store(at: server)
        let photo = try key("a/b_c-d.e.jpg")
        let http = OutgoingHTTP()
        let stored = try await http.send(
            .init("PUT", store.link("PUT", to: photo, seconds: 600), headers: [("Content-Type", "image/jpeg")], body: [1, 2, 3])
        )
        #expect(stored.status == 200)
        #expect(try await store.read(photo, limit: 10) == [1, 2, 3])
        #expect(try await http.send(.init("GET", store.link("GET", to: photo, seconds: 600))).body == [1, 2, 3])
        await server.kill()
    }

    @Test func `the bucket may be in the host`() async throws {
        let server = try await S3Stores.server.value
        let prefix = try key("host/\(UUID().uuidString)")
        let store = try S3Stores.store(at: server, host: "localhost", pathStyle: false, prefix: prefix)
        try await store.prepare()
        try await store.put(key("a/b"), [7, 8])
        #expect(try await store.list(prefix: "", after: nil, limit: 10).map(\.size) == [2])
        let other = try S3Stores.store(at: server, prefix: prefix)
        #expect(try await other.read(key("a/b"), limit: 10) == [7, 8])
    }

    @Test func `a prefix is a store of its own`() async throws {
        let server = try await S3Stores.server.value
        let name = "p\(UUID().uuidString)"
        let (one, two) = (
            try S3Stores.store(at: server, prefix: try key(name)),
            try S3Stores.store(at: server, prefix: try key(name + "-other"))
        )
        try await one.put(key("a"), [1])
        try await two.put(key("b"), [2])
        #expect(try await one.list(prefix: "", after: nil, limit: 10).map(\.key) == [key("a")])
        #expect(try await two.info(of: key("a")) == nil)
        let bucket = try S3Stores.store(at: server)
        #expect(try await bucket.read(key("\(name)/a"), limit: 10) == [1])
    }

    @Test func `a wrong secret is refused`() async throws {
        let store = try S3Stores.store(at: try await S3Stores.server.value, secret: "wrong")
        let a = try key("a")
        #expect(await reason { try await store.put(a, [1]) } == "STORAGE_DENIED")
        #expect(await reason { _ = try await store.get(a, range: nil) } == "STORAGE_DENIED")
        #expect(await reason { _ = try await store.info(of: a) } == "STORAGE_DENIED")
        #expect(await reason { try await store.delete(a) } == "STORAGE_DENIED")
        #expect(await reason { _ = try await store.list(prefix: "", after: nil, limit: 1) } == "STORAGE_DENIED")
        do {
            try await store.prepare()
            Issue.record("it was taken")
        } catch let error as S3BlobStore.Unusable {
            guard case .denied = error else { throw error }
        }
    }

    @Test func `a bucket that does not exist is said`() async throws {
        let store = try S3Stores.store(at: try await S3Stores.server.value, bucket: "no-such-bucket")
        let a = try key("a")
        #expect(await reason { try await store.put(a, [1]) } == "STORAGE_DENIED")
        #expect(await reason { _ = try await store.read(a, limit: 1) } == "STORAGE_DENIED")
        do {
            try await store.prepare()
            Issue.record("it was taken")
        } catch let error as S3BlobStore.Unusable {
            guard case .noBucket = error else { throw error }
        }
    }

    @Test func `a spool folder that cannot be written is refused at the start`() async throws {
        let store = S3BlobStore(
            try S3Address(endpoint: "http://127.0.0.1:1", region: "r", bucket: "abc", pathStyle: true),
            region: "r",
            credentials: SigV4.Credentials(keyID: "a", secret: "b"),
            spoolFolder: "/proc/none",
            logger: silent
        )
        #expect(await reason { try await store.prepare() } == "STORAGE_UNAVAILABLE")
        let big = [UInt8](repeating: 0, count: 200_000)
        let a = try key("a")
        #expect(await reason { try await store.put(a, big) } == "STORAGE_UNAVAILABLE")
    }

    @Test func `settings make the store`() async throws {
        let server = try await S3Stores.server.value
        let folder = "settings/\(UUID().uuidString)"
        let values = [
            "blob.store": "s3", "blob.s3.endpoint": server.endpoint, "blob.s3.region": "us-east-1", "blob.s3.path-style": "true",
            "blob.s3.bucket": S3Stores.bucket, "blob.s3.key-id": server.key, "blob.s3.secret": server.secret,
            "blob.s3.prefix": folder,
        ]
        func problem(_ changes: [String: String?]) async -> String {
            var changed = values
            for (name, value) in changes { changed[name] = value }
            do {
                _ = try await BlobSettings.store(Settings(values: changed, declared: BlobSettings.all), logger: silent)
                return "none"
            } catch { return "\(error)" }
        }
        let store = try await BlobSettings.store(Settings(values: values, declared: BlobSettings.all), logger: silent)
        try await store.put(key("a"), [5])
        #expect(try await S3Stores.store(at: server, prefix: try key(folder)).read(key("a"), limit: 1) == [5])
        let wrong: [([String: String?], String)] = [
            (["blob.store": "cloud"], "--blob-store"), (["blob.s3.bucket": nil], "--blob-s3-bucket"),
            (["blob.s3.bucket": "A"], "--blob-s3-bucket"), (["blob.s3.region": nil], "--blob-s3-region"),
            (["blob.s3.key-id": nil], "--blob-s3-key-id"), (["blob.s3.key-id": "a b"], "--blob-s3-key-id"),
            (["blob.s3.secret": nil], "--blob-s3-secret"), (["blob.s3.secret": ""], "--blob-s3-secret"),
            (["blob.s3.prefix": "/a"], "--blob-s3-prefix"), (["blob.s3.endpoint": "here"], "--blob-s3-endpoint"),
            (["blob.s3.path-style": "false"], "--blob-s3-endpoint"), (["blob.s3.path-style": "maybe"], "--blob-s3-path-style"),
            (["blob.s3.secret": "wrong-secret"], "--blob-s3-secret"), (["blob.s3.bucket": "missing-bucket"], "--blob-s3-bucket"),
            (["blob.s3.connections": "0"], "--blob-s3-connections"), (["blob.s3.connections": "513"], "--blob-s3-connections"),
            (["blob.store": "local"], "--blob-folder"),
        ]
        for (changes, name) in wrong {
            let text = await problem(changes)
            #expect(text.contains(name), "\(changes): \(text)")
            #expect(!text.contains(server.secret) && !text.contains("wrong-secret"), "\(text)")
        }
    }
}
