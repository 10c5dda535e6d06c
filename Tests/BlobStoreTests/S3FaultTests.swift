import Foundation
import HTTPServer
import Kernel
import Logging
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// A server that answers as set, and records what it was asked.
private final class ScriptedServer: Sendable {
    enum Answer: Sendable {
        case status(HTTPResponseStatus, String = "")
        case headers(HTTPResponseStatus, [(String, String)], [UInt8])
        /// The connection ends in the middle of the reply.
        case cutOff
        case late
    }

    private struct State {
        var answers: [Answer]
        var asked: [String] = []
        var bodies: [[UInt8]] = []
        var hosts: Set<String> = []
    }

    private let state: Mutex<State>

    /// - Parameter answers: In order; the last of them again and again.
    init(_ answers: [Answer]) { state = Mutex(State(answers: answers)) }

    var asked: [String] { state.withLock { $0.asked } }
    var bodies: [[UInt8]] { state.withLock { $0.bodies } }

    private func next(_ request: HTTPRequest, _ body: [UInt8]) -> Answer? {
        state.withLock { state in
            state.asked.append("\(request.method.rawValue) \(request.path)\(request.query.map { "?\($0)" } ?? "")")
            state.bodies.append(body)
            return state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first
        }
    }

    private func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try await request.body.collect(upTo: 1 << 24)
        switch next(request, Array(body.readableBytesView)) {
        case .status(let status, let text): return HTTPResponse(status, [:], text)
        case .headers(let status, let headers, let bytes):
            return HTTPResponse(status, HTTPHeaders(headers), .bytes(ByteBuffer(bytes: bytes)))
        case .cutOff:
            struct Cut: Error {}
            return HTTPResponse(
                .ok,
                [:],
                .writer(length: 1_000) { writer in
                    try await writer.write(ByteBuffer(string: "the begin"))
                    throw Cut()
                }
            )
        case .late, nil:
            try await Task.sleep(for: .seconds(20))
            return HTTPResponse(.ok)
        }
    }

    /// Runs it while `body` runs, which is given a store at it.
    nonisolated(nonsending) func run(
        _ retries: S3Retries = .patient(attempts: 3),
        logger: Logger = silent,
        _ body: (S3BlobStore) async throws -> Void
    ) async throws {
        let server = try await HTTPServer.start(host: "127.0.0.1", port: 0) { try await self.answer($0) }
        let store = S3BlobStore(
            try S3Address(endpoint: "http://127.0.0.1:\(server.port)", region: "us-east-1", bucket: "bucket", pathStyle: true),
            signer: SigV4(credentials: SigV4.Credentials(keyID: "AKIA", secret: "well-hidden"), region: "us-east-1"),
            prefix: nil,
            spoolFolder: NSTemporaryDirectory(),
            connections: 4,
            retries: retries,
            logger: logger
        )
        try await body(store)
    }
}

/// What is done when the store or the way to it fails.
@Suite(.timeLimit(.minutes(10)))
struct S3FaultTests {
    private let key: BlobKey

    init() throws { key = try BlobKey("a/b") }

    private func object(_ bytes: [UInt8], at start: Int = 0, of total: Int) -> ScriptedServer.Answer {
        .headers(
            .partialContent,
            [
                ("Content-Range", "bytes \(start)-\(start + bytes.count - 1)/\(total)"), ("ETag", "\"one\""),
                ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ],
            bytes
        )
    }

    @Test func `what fails in passing is asked again, with the whole body each time`() async throws {
        let bytes = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 >> 5) }
        let server = ScriptedServer([.status(.serviceUnavailable), .cutOff, .status(.ok)])
        try await server.run { store in
            _ = try await store.put(key, bytes)
            #expect(server.asked == Array(repeating: "PUT /bucket/a/b", count: 3))
            let areWhole = server.bodies.allSatisfy { $0 == bytes }
            #expect(areWhole)
        }
        let cut = ScriptedServer([
            .status(.badRequest, "<Error><Code>RequestTimeout</Code></Error>"), .status(.conflict), object([1, 2], of: 2),
        ])
        try await cut.run { store in
            let read = try await store.read(key, limit: 2)
            #expect(read == [1, 2])
        }
    }

    @Test func `what is refused is not asked again`() async throws {
        for (status, code, expected) in [
            (HTTPResponseStatus.forbidden, "AccessDenied", "STORAGE_DENIED"), (.badRequest, "ExpiredToken", "STORAGE_DENIED"),
            (.movedPermanently, "PermanentRedirect", "STORAGE_DENIED"), (.notFound, "NoSuchBucket", "STORAGE_DENIED"),
            (.notFound, "NoSuchKey", "NOT_FOUND"), (.init(statusCode: 507), "XMinioStorageFull", "STORAGE_FULL"),
            (.preconditionFailed, "PreconditionFailed", "STORAGE_UNAVAILABLE"),
        ] {
            let server = ScriptedServer([.status(status, "<Error><Code>\(code)</Code></Error>")])
            try await server.run { store in
                #expect(await reason { _ = try await store.get(key, range: nil) } == expected)
                #expect(server.asked.count == 1, "\(code)")
            }
        }
    }

    @Test func `a store that stays away is given up after a few attempts`() async throws {
        let server = ScriptedServer([.status(.internalServerError)])
        try await server.run { store in
            #expect(await reason { _ = try await store.info(of: key) } == "STORAGE_UNAVAILABLE")
            #expect(server.asked == Array(repeating: "HEAD /bucket/a/b", count: 3))
        }
    }

    @Test func `a slow store is given up in time`() async throws {
        let server = ScriptedServer([.late])
        try await server.run(S3Retries(timeout: .milliseconds(300), attempts: 2, firstPause: .milliseconds(2))) { store in
            let start = ContinuousClock.now
            #expect(await reason { _ = try await store.get(key, range: nil) } == "STORAGE_UNAVAILABLE")
            #expect(ContinuousClock.now - start < .seconds(20))
            #expect(server.asked.count <= 2)
        }
    }

    @Test func `no attempt begins when the time is over`() async throws {
        let server = ScriptedServer([.status(.internalServerError)])
        try await server.run(S3Retries(attempts: 1_000, within: .milliseconds(200), firstPause: .milliseconds(50))) { store in
            #expect(await reason { _ = try await store.info(of: key) } == "STORAGE_UNAVAILABLE")
            #expect((1...6).contains(server.asked.count))
        }
    }

    @Test func `a blob that changes while it is read breaks off`() async throws {
        let first = [UInt8](repeating: 1, count: Int(S3BlobStore.chunkSize))
        let server = ScriptedServer([object(first, of: 300_000), .status(.preconditionFailed)])
        try await server.run { store in
            var iterator = try await store.get(key, range: nil).body.makeAsyncIterator()
            #expect(try await iterator.next()?.count == first.count)
            #expect(await reason { _ = try await iterator.next() } == "STORAGE_UNAVAILABLE")
        }
    }

    @Test func `answers that make no sense are not passed on`() async throws {
        let time = ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
        for answer: ScriptedServer.Answer in [
            .status(.ok, "no time"), .headers(.partialContent, [time], [1]),
            .headers(.partialContent, [time, ("Content-Range", "bytes 5-5/10")], [1]),
            .headers(.partialContent, [time, ("Content-Range", "bytes 0-9/10")], [1]),
            .headers(.ok, [time], [UInt8](repeating: 0, count: 2 << 20)),
        ] {
            try await ScriptedServer([answer]).run { store in
                #expect(await reason { _ = try await store.get(key, range: nil) } == "STORAGE_UNAVAILABLE", "\(answer)")
            }
        }
        try await ScriptedServer([.status(.ok, "<html>")]).run { store in
            #expect(await reason { _ = try await store.list(prefix: "", after: nil, limit: 1) } == "STORAGE_UNAVAILABLE")
            #expect(await reason { _ = try await store.info(of: key) } == "STORAGE_UNAVAILABLE")
        }
        let late = "<Error><Code>InternalError</Code></Error>"
        try await ScriptedServer([.status(.ok, late)]).run { store in
            #expect(await reason { try await store.copy(key, to: key) } == "STORAGE_UNAVAILABLE")
        }
    }

    @Test func `a listing goes on where the store broke it off`() async throws {
        func page(_ key: String, _ next: String?) -> ScriptedServer.Answer {
            .status(
                .ok,
                """
                <ListBucketResult><IsTruncated>\(next != nil)</IsTruncated>\(next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? "")
                <Contents><Key>\(key)</Key><Size>1</Size><LastModified>2026-01-02T03:04:05Z</LastModified></Contents></ListBucketResult>
                """
            )
        }
        let server = ScriptedServer([page("a", "t+/="), page(".hidden%20file", "u"), page("b", nil)])
        try await server.run { store in
            let listed = try await store.list(prefix: "", after: BlobKey("A"), limit: 1_000)
            #expect(listed.map(\.key.description) == ["a", "b"])
            #expect(
                server.asked == [
                    "GET /bucket?encoding-type=url&list-type=2&max-keys=1000&prefix=&start-after=A",
                    "GET /bucket?continuation-token=t%2B%2F%3D&encoding-type=url&list-type=2&max-keys=999&prefix=&start-after=A",
                    "GET /bucket?continuation-token=u&encoding-type=url&list-type=2&max-keys=999&prefix=&start-after=A",
                ]
            )
        }
    }

    @Test func `the log says what failed and holds no secret`() async throws {
        let lines = Lines()
        let logger = Logger(label: "test") { _ in lines }
        let text =
            "<Error><Code>SignatureDoesNotMatch</Code><Message>Check it.</Message><StringToSign>secret-text</StringToSign></Error>"
        try await ScriptedServer([.status(.forbidden, text)]).run(logger: logger) { store in
            #expect(await reason { try await store.put(key, [1]) } == "STORAGE_DENIED")
        }
        let log = lines.text
        #expect(log.contains("PUT a/b") && log.contains("403 SignatureDoesNotMatch: Check it."))
        #expect(!log.contains("secret-text") && !log.contains("well-hidden") && !log.contains("AKIA"), "\(log)")
    }

    @Test func `no server, then one`() async throws {
        let server = try await S3Server.start(buckets: ["photos"])
        let store = try S3Stores.store(
            at: server,
            bucket: "photos",
            retries: .patient(attempts: 2)
        )
        try await store.put(key, [1])
        await server.kill()
        #expect(await reason { try await store.put(key, [2]) } == "STORAGE_UNAVAILABLE")
        #expect(await reason { _ = try await store.read(key, limit: 10) } == "STORAGE_UNAVAILABLE")
        try await store.prepare()
        try await server.start()
        try await store.put(key, [3])
        #expect(try await store.read(key, limit: 10) == [3])
        await server.kill()
    }

    @Test func `an upload waits out a short absence`() async throws {
        let server = try await S3Server.start(buckets: ["photos"])
        await server.kill()
        let store = try S3Stores.store(
            at: server,
            bucket: "photos",
            retries: .patient(attempts: 10_000)
        )
        let key = key
        let upload = Task { try await store.put(key, [UInt8](repeating: 9, count: 300_000)) }
        try await server.start()
        #expect(try await upload.value.info.size == 300_000)
        #expect(try await store.info(of: key)?.size == 300_000)
        await server.kill()
    }
}

/// What was logged.
private final class Lines: LogHandler, Sendable {
    private let kept = Mutex<[String]>([])

    var text: String { kept.withLock { $0.joined(separator: "\n") } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        kept.withLock { $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])") }
    }
}
