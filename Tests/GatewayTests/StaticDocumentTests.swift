import Gzip
import NIOCore
import TestSupport
import Testing

@testable import GatewayService

/// Documents that are the same for everyone: the API's description, and the pages' files.
struct StaticDocumentTests {
    private static func ask(_ path: String, _ headers: String = "") async throws -> RawReply {
        try await EchoGateway.shared.value.ask("GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(headers)\r\n")
    }

    @Test(arguments: [
        ("gzip", true), ("gzip, deflate, br, zstd", true), ("GZIP;Q=0.5", true), ("br;q=1.0, gzip ; q=0.8, *;q=0.1", true),
        ("*", true), ("x-gzip", true), ("identity;q=0.5, gzip;q=0.5", true), ("identity;q=0, *", true),
        ("", false), ("br", false), ("gzip;q=0", false), ("gzip;q=0.000, *", false), ("*;q=0", false), ("identity", false),
        ("identity, gzip;q=0.5", false), ("gzip;q=much", false), (",,;;", false), ("gzipped", false),
    ])
    func `gzip is for clients that take it and like plain bytes no better`(header: String, takes: Bool) {
        #expect(StaticDocument.takesGzip(header) == takes, "\(header)")
    }

    @Test func `a client that says nothing gets the bytes as they are`() {
        #expect(!StaticDocument.takesGzip(nil))
    }

    @Test func `both forms hold the same, and what gzip would make longer has one form`() throws {
        let content = Array(String(repeating: "the same words, ", count: 1_000).utf8)
        let document = StaticDocument(content, "text/plain")
        let packed = try #require(document.packed)
        #expect(packed.bytes.readableBytes < content.count / 10 && packed.tag != document.plain.tag)
        var gunzip = try Gunzip(limit: content.count)
        try packed.bytes.withUnsafeReadableBytes { bytes throws(GunzipError) in try gunzip.consume(bytes) }
        try gunzip.finish()
        #expect(gunzip.content == content && Array(document.plain.bytes.readableBytesView) == content)
        #expect(StaticDocument(Array("ab".utf8), "text/plain").packed == nil)
    }

    @Test(arguments: ["/openapi.json", "/docs", "/pages/errors.json"])
    func `a large document is sent compressed, each form under a tag of its own`(path: String) async throws {
        let plain = try await Self.ask(path)
        let packed = try await Self.ask(path, "Accept-Encoding: br, gzip\r\n")
        #expect(plain.status == 200 && plain["Content-Encoding"] == nil, "\(plain.head)")
        #expect(packed.status == 200 && packed["Content-Encoding"] == "gzip", "\(packed.head)")
        let lengths = try [plain, packed].map { try #require($0["Content-Length"].flatMap { Int($0) }) }
        #expect(lengths[1] < lengths[0] / 2, "\(lengths)")
        for reply in [plain, packed] { #expect(reply["Vary"] == "Accept-Encoding" && reply["Cache-Control"] == "no-cache") }
        let tags = try [plain, packed].map { try #require($0["ETag"]) }
        #expect(tags[0] != tags[1])
        #expect(try await Self.ask(path, "Accept-Encoding: gzip;q=0\r\n")["ETag"] == tags[0])
        for (tag, headers) in [(tags[0], ""), (tags[1], "Accept-Encoding: gzip\r\n")] {
            let again = try await Self.ask(path, "\(headers)If-None-Match: \(tag)\r\n")
            #expect(again.status == 304 && again["ETag"] == tag && again["Vary"] == "Accept-Encoding", "\(again.head)")
            #expect(again["Content-Encoding"] == nil && again.body.isEmpty)
        }
        let other = try await Self.ask(path, "Accept-Encoding: gzip\r\nIf-None-Match: \(tags[0])\r\n")
        #expect(other.status == 200, "another form is another document")
    }
}
