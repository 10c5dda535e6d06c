import BlobStore
import Foundation
import Kernel
import Logging
import TestSupport
import Testing

@testable import GatewayService

/// What replies say about caches, and which queries pages take.
struct ReplyTests {
    private static func ask(_ line: String, _ headers: String = "") async throws -> RawReply {
        try await EchoGateway.shared.value.ask("\(line) HTTP/1.1\r\nHost: a\r\n\(headers)\r\n")
    }

    @Test(arguments: [
        ("GET /api/notes?text=x", ""), ("GET /api/notes?text=x", "Authorization: Bearer x\r\n"),
        ("GET /api/notes?wrong=x", ""), ("POST /api/private/notes", ""),
        ("POST /api/private/notes", "Authorization: Bearer x\r\n"), ("GET /api/nothing", ""), ("DELETE /api/notes", ""),
        ("GET /api/export", ""), ("GET /.well-known/keys.json", "Authorization: Bearer x\r\n"),
        ("GET /api/health", "Authorization: Bearer x\r\n"), ("GET /media/none", ""),
    ]) func `no cache keeps what is one caller's own, or a failure`(line: String, headers: String) async throws {
        let reply = try await Self.ask(line, headers)
        #expect(reply["Cache-Control"] == "no-store", "\(reply)")
    }

    @Test(arguments: [
        "GET /api/notes?text=x", "GET /api/notes?wrong=x", "POST /api/private/notes", "GET /api/nothing", "DELETE /api/notes",
        "GET /api/health", "GET /healthz", "GET /openapi.json", "GET /docs", "GET /s/abc", "GET /media/none", "FROB /healthz",
    ]) func `no browser takes a reply for anything but what its type says`(line: String) async throws {
        let reply = try await Self.ask(line)
        #expect(reply.head.ranges(of: "X-Content-Type-Options: nosniff").count == 1, "\(reply.head)")
    }

    @Test func `routes that say how they may be kept are left alone`() async throws {
        let page = try await Self.ask("GET /s/abc", "Authorization: Bearer x\r\n")
        #expect(page.status == 200 && page["Cache-Control"] == "public, max-age=60", "\(page)")
        for line in ["GET /.well-known/keys.json", "GET /healthz"] {
            let reply = try await Self.ask(line)
            #expect(reply.status == 200 && reply["Cache-Control"] == nil, "\(reply.head)")
        }
    }

    @Test(arguments: [
        "fbclid=IwAR0", "utm_source=a&utm_medium=b", "igsh=x%3D%3D", "text=other", "cut=%E", "a.b.c=1", "flag",
        String(repeating: "x=1&", count: 600),
    ]) func `a page opens whatever was appended to its link`(query: String) async throws {
        let reply = try await Self.ask("GET /s/abc.png?\(query)")
        #expect(reply.status == 200 && reply.body == "abc.png", "\(reply)")
    }

    @Test(arguments: [
        ("GET /api/notes/", "GET /api/notes?"), ("GET /api//notes", "GET /api/notes?"), ("POST /api/note", "POST /api/notes?"),
        ("POST /notes", "POST /api/notes?"), ("GET /healthz/", "GET /healthz?"),
        ("GET /admn", "GET /admin?"), ("GET /Docs", "GET /docs?"), ("GET /dcos", "GET /docs?"),
    ]) func `a slash too many or a slip in a path is answered with the route that was meant`(line: String, meant: String)
        async throws
    {
        let reply = try await Self.ask(line)
        #expect(reply.status == 404 && reply.code == "NOT_FOUND" && reply.body.contains("did you mean \(meant)"), "\(reply)")
    }

    @Test func `what is near to no route suggests none`() async throws {
        let reply = try await Self.ask("GET /api/nothing")
        #expect(reply.status == 404 && !reply.body.contains("did you mean"), "\(reply)")
    }

    @Test(arguments: ["GET /api/notes?fbclid=x", "GET /api/notes?text=%E", "GET /.well-known/keys.json?utm_source=x"])
    func `the API refuses parameters that it does not know`(line: String) async throws {
        let reply = try await Self.ask(line)
        #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR", "\(reply)")
    }

    @Test func `a part of a file is sent only to who has the rest of the same file`() async throws {
        let gateway = try await EchoGateway.shared.value
        let store = LocalBlobStore(
            folder: gateway.files.path,
            logger: Logger(label: "blobs") { _ in SwiftLogNoOpLogHandler() }
        )
        _ = try await store.put(
            try BlobKey("avatars/range.png"),
            from: Pieces(pieces: [Array("0123456789".utf8)[...]]),
            limit: 100
        )
        let line = "GET /media/avatars/range.png"
        let tag = try #require(try await Self.ask(line)["ETag"])
        let part = try await Self.ask(line, "Range: bytes=2-4\r\nIf-Range: \(tag)\r\n")
        #expect(part.status == 206 && part.body == "234", "\(part)")
        for other in ["\"other\"", "W/\(tag)", "Sun, 06 Nov 1994 08:49:37 GMT", "*", "\(tag), \"x\""] {
            let whole = try await Self.ask(line, "Range: bytes=2-4\r\nIf-Range: \(other)\r\n")
            #expect(whole.status == 200 && whole.body == "0123456789" && whole["Content-Range"] == nil, "\(other): \(whole)")
        }
        let beyond = try await Self.ask(line, "Range: bytes=90-\r\nIf-Range: \"other\"\r\n")
        #expect(beyond.status == 200, "\(beyond)")
        #expect(try await Self.ask(line, "Range: bytes=90-\r\nIf-Range: \(tag)\r\n").status == 416)
        #expect(try await Self.ask(line, "If-Range: \(tag)\r\n").status == 200)
    }

    private struct Pieces: AsyncSequence, Sendable {
        let pieces: [ArraySlice<UInt8>]

        struct AsyncIterator: AsyncIteratorProtocol {
            var rest: ArraySlice<ArraySlice<UInt8>>
            mutating func next() async -> ArraySlice<UInt8>? { rest.popFirst() }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: pieces[...]) }
    }
}
