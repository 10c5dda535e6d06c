import Cryptography
import Foundation
import Kernel
import OutgoingHTTP
import TestSupport
import Testing

@testable import BlobStore

/// Links by which clients send announced files (PL-1).
@Suite(.timeLimit(.minutes(10))) struct UploadLinkTests {
    private let signer = SignedUpload(secret: [UInt8](repeating: 9, count: 32))
    private let expires = Instant(seconds: 2_000_000_000)
    private let before = Instant(seconds: 1_999_999_999)
    private let file = ExpectedUpload(size: 3, contentType: "video/mp4", sha256: Array(SHA256.hash(data: [1, 2, 3])))

    private func verify(_ link: String, at now: Instant, by signer: SignedUpload? = nil) throws(ServiceError)
        -> (key: BlobKey, file: ExpectedUpload)
    {
        let parts = link.dropFirst().split(separator: "?", maxSplits: 1)
        let pairs =
            parts.dropFirst().first?.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1).map(String.init) } ?? []
        return try (signer ?? self.signer).verify(
            key: String(parts[0]),
            query: { name in pairs.first { $0[0] == name }?.dropFirst().first },
            now: now
        )
    }

    @Test func `a link says which file it is for, until it expires`() throws {
        let link = signer.sign(file, to: try BlobKey("uploads/u/1"), expires: expires, base: "")
        let found = try verify(link.url, at: before)
        #expect(found.key.description == "uploads/u/1" && found.file == file)
        #expect(link.headers.map(\.name) == ["content-length", "content-type", "content-digest"])
        let digest = "sha-256=:\(Data(file.sha256).base64EncodedString()):"
        #expect(link.headers.map(\.value) == ["3", "video/mp4", digest])
        let late = #expect(throws: ServiceError.self) { try verify(link.url, at: expires) }
        #expect(late?.reason == "LINK_EXPIRED")
    }

    @Test func `nothing else is a link`() throws {
        let link = signer.sign(file, to: try BlobKey("uploads/u/1"), expires: expires).url
        let signature = try #require(link.split(separator: "=").last)
        let reading = SignedURL(secret: [UInt8](repeating: 9, count: 32)).sign(key: try BlobKey("uploads/u/1"), expires: expires)
        let others = [
            link.replacing("/u/1", with: "/u/2"), link.replacing("size=3", with: "size=4"),
            link.replacing("size=3", with: "size=03"),
            link.replacing("mp4", with: "webm"), link.replacing("exp=2", with: "exp=3"), String(link.dropLast()), link + "A",
            link.replacing("sha256=", with: "sha256=A"), "/uploads/u/1", String(reading.dropFirst("/media".count)),
            link.replacing("&sig=\(signature)", with: ""),
        ]
        for other in others {
            let error = #expect(throws: ServiceError.self, "\(other)") { try verify(other, at: before) }
            #expect(error?.code == .notFound)
        }
        let foreign = SignedUpload(secret: [UInt8](repeating: 8, count: 32))
        #expect(throws: ServiceError.self) { try verify(link, at: before, by: foreign) }
        let elsewhere = signer.sign(file, to: try BlobKey("posts/u/1"), expires: expires).url
        #expect(throws: ServiceError.self, "a key outside the folder") { try verify(elsewhere, at: before) }
    }

    @Test(arguments: 0..<4) func `base64 has its padding`(count: Int) {
        let bytes = (0..<count).map { UInt8(250 + $0) }
        #expect(Base64.encode(bytes) == Data(bytes).base64EncodedString())
    }

    /// What is not the announced file `[1, 2, 3]`, with the headers that say something else, and how S3 refuses it: a header that is not as it was
    /// signed, or bytes that are not those of the signed checksum.
    private static let otherFiles: [(body: [UInt8], headers: [String: String], status: Int)] = [
        ([1, 2, 3, 4], [:], 403), ([1, 2], [:], 403), ([1, 2, 4], [:], 400), ([1, 2, 3], ["content-type": "video/webm"], 403),
        ([1, 2, 4], ["x-amz-checksum-sha256": Base64.encode(Array(SHA256.hash(data: [1, 2, 4])))], 403),
    ]

    @Test func `a bucket takes an announced file without the gateway`() async throws {
        let server = try await S3Server.start(buckets: [S3Stores.bucket], checksLinks: true)
        let address = try S3Address(
            endpoint: "http://127.0.0.1:\(server.port)",
            region: "us-east-1",
            bucket: S3Stores.bucket,
            pathStyle: true
        )
        let signer = SigV4(credentials: SigV4.Credentials(keyID: server.key, secret: server.secret), region: "us-east-1")
        func store(_ uploads: S3Address?) throws -> S3BlobStore {
            S3BlobStore(
                address,
                uploadAddress: uploads,
                signer: signer,
                prefix: try BlobKey("some/folder"),
                spoolFolder: NSTemporaryDirectory(),
                connections: 2,
                retries: .patient(attempts: 2),
                logger: silent
            )
        }
        let key = try BlobKey("uploads/u/1")
        #expect(try store(nil).directUpload(of: file, to: key, seconds: 600) == nil, "clients cannot reach it")
        let upload = try #require(try store(address).directUpload(of: file, to: key, seconds: 600))
        #expect(upload.url.contains("X-Amz-SignedHeaders=content-length%3Bcontent-type%3Bhost%3Bx-amz-checksum-sha256&"))
        let headers = upload.headers.filter { $0.name != "content-length" }.map { ($0.name, $0.value) }
        let sent = try await OutgoingHTTP().send(.init("PUT", upload.url, headers: headers, body: [1, 2, 3]))
        #expect(sent.status == 200)
        #expect(try await store(nil).read(key, limit: 10) == [1, 2, 3])
        for (body, changes, status) in Self.otherFiles {
            let changed = headers.map { ($0.0, changes[$0.0] ?? $0.1) }
            let refused = try await OutgoingHTTP().send(.init("PUT", upload.url, headers: changed, body: body))
            #expect(refused.status == status, "\(body) \(changes): \(String(decoding: refused.body, as: UTF8.self))")
        }
        for forged in [upload.url.replacing("Expires=600", with: "Expires=601"), upload.url.replacing("/u/1?", with: "/u/2?")] {
            #expect(try await OutgoingHTTP().send(.init("PUT", forged, headers: headers, body: [1, 2, 3])).status == 403)
        }
        #expect(try await store(nil).read(key, limit: 10) == [1, 2, 3], "it is as it was")
        #expect(try await store(nil).info(of: try BlobKey("uploads/u/2")) == nil)
        let elsewhere = try S3Address(endpoint: "https://files.example.com", region: "us-east-1", bucket: "far", pathStyle: false)
        let outside = try #require(try store(elsewhere).directUpload(of: file, to: key, seconds: 600))
        #expect(outside.url.hasPrefix("https://far.files.example.com/some/folder/uploads/u/1?"))
        await server.kill()
    }
}
