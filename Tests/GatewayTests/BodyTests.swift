import Foundation
import Processes
import Testing

/// Bodies of JSON routes: how they are named and how they are compressed.
struct BodyTests {
    private static let json = Array("{\"text\":\"hello\"}".utf8)

    @Test(arguments: ["application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json", nil])
    func `JSON is read by its name, and without one`(type: String?) async throws {
        let gateway = try await EchoGateway.shared.value
        let reply = try await gateway.say(type.map { "Content-Type: \($0)\r\n" } ?? "", Self.json)
        #expect(reply.status == 200 && reply.body.contains("\"hello\""), "\(reply)")
    }

    @Test(arguments: [
        "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "text/plain", "text/html", "application/xml",
        "application/octet-stream", "", "application/jsonp",
    ]) func `what says to be something else is refused, and the error names what is taken`(type: String) async throws {
        let reply = try await EchoGateway.shared.value.say("Content-Type: \(type)\r\n", Self.json)
        #expect(reply.status == 415 && reply.code == "UNSUPPORTED_MEDIA_TYPE", "\(reply)")
        #expect(reply.body.contains("application/json"))
    }

    @Test func `no body needs no name`() async throws {
        let reply = try await EchoGateway.shared.value.say("Content-Type: application/x-www-form-urlencoded\r\n", [])
        #expect(reply.status == 200, "\(reply)")
    }

    @Test(arguments: ["gzip", "GZIP", "x-gzip"]) func `compressed JSON is read`(coding: String) async throws {
        let gateway = try await EchoGateway.shared.value
        let reply = try await gateway.say("Content-Encoding: \(coding)\r\n", try await Self.gzip(Self.json))
        #expect(reply.status == 200 && reply.body.contains("\"hello\""), "\(reply)")
    }

    @Test func `compressed JSON in chunks of a byte is read`() async throws {
        let packed = try await Self.gzip(Self.json)
        let connection = try await EchoGateway.shared.value.connect()
        try await connection.send(
            "POST /api/notes HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for byte in packed { try await connection.send(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
        try await connection.send("0\r\n\r\n")
        let reply = try await connection.reply()
        #expect(reply.status == 200 && reply.body.contains("\"hello\""), "\(reply)")
    }

    @Test func `what grows beyond the limit is refused, however small it came`() async throws {
        let gateway = try await EchoGateway.shared.value
        let allowed = Array("{\"text\":\"x\"}\(String(repeating: " ", count: 1_048_564))".utf8)
        #expect(allowed.count == 1 << 20)
        let whole = try await gateway.say("Content-Encoding: gzip\r\n", try await Self.gzip(allowed))
        #expect(whole.status == 200, "\(whole.head)")
        let more = try await gateway.say("Content-Encoding: gzip\r\n", try await Self.gzip(allowed + [32]))
        #expect(more.status == 413 && more.code == "BODY_TOO_LARGE", "\(more)")
        // 300 MB in 300 kB.
        let bomb = try await gateway.say(
            "Content-Encoding: gzip\r\n",
            try await Self.python("gzip.compress(bytes(300_000_000), 1, mtime=0)[:1_000_000]")
        )
        #expect(bomb.status == 413 && bomb.code == "BODY_TOO_LARGE", "\(bomb)")
    }

    @Test func `damaged and unfinished gzip is refused`() async throws {
        let gateway = try await EchoGateway.shared.value
        let packed = try await Self.gzip(Self.json)
        var damaged = packed
        damaged[packed.count - 6] ^= 1
        for body in [Array("garbage".utf8), damaged, Array(packed.dropLast(3)), packed + [1, 2, 3], Self.json] {
            let reply = try await gateway.say("Content-Encoding: gzip\r\n", body)
            #expect(reply.status == 400 && reply.code == "MALFORMED_BODY", "\(reply)")
        }
    }

    @Test(arguments: ["br", "deflate", "gzip, gzip", "zstd"]) func `other codings are refused, and the reply says which is taken`(
        coding: String
    ) async throws {
        let reply = try await EchoGateway.shared.value.say("Content-Encoding: \(coding)\r\n", Self.json)
        #expect(reply.status == 415 && reply.code == "UNSUPPORTED_CONTENT_ENCODING", "\(reply)")
        #expect(reply["Accept-Encoding"] == "gzip")
    }

    @Test func `a compressed upload is refused`() async throws {
        let body = try await Self.gzip(Array("--b\r\nContent-Disposition: form-data; name=photo\r\n\r\nx\r\n--b--\r\n".utf8))
        let reply = try await EchoGateway.shared.value.ask(
            "POST /api/photos HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Encoding: gzip\r\n"
                + "Content-Length: \(body.count)\r\n\r\n",
            body: body
        )
        #expect(reply.status == 415 && reply.code == "UNSUPPORTED_CONTENT_ENCODING", "\(reply)")
    }

    /// As Python compresses it.
    static func gzip(_ bytes: [UInt8]) async throws -> [UInt8] {
        try await python("gzip.compress(sys.stdin.buffer.read(), mtime=0)", input: bytes)
    }

    static func python(_ expression: String, input: [UInt8] = []) async throws -> [UInt8] {
        let script = "import gzip, sys; sys.stdout.buffer.write(\(expression))"
        let result = try await run("python3", ["-c", script], input: input)
        try #require(result.status == 0, "\(result.errors)")
        return [UInt8](result.output)
    }
}
