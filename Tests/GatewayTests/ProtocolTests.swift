import Foundation
import TestSupport
import Testing

/// What the gateway makes of requests that are no correct HTTP (RFC 9110, RFC 9112).
struct ProtocolTests {
    /// One request and the refusal that it gets.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let request: String
        let status: Int
        var code = "MALFORMED_REQUEST"
    }

    static let post = "POST /api/notes HTTP/1.1\r\nHost: a\r\n"

    static let cases: [Case] = [
        Case(testDescription: "no method that is known", request: "FROB / HTTP/1.1\r\nHost: a\r\n\r\n", status: 400),
        Case(testDescription: "no HTTP at all", request: "\u{16}\u{3}\u{1}\u{2}hello\r\n\r\n", status: 400),
        Case(
            testDescription: "a header without a colon",
            request: "GET /healthz HTTP/1.1\r\nHost: a\r\nfoo\r\n\r\n",
            status: 400
        ),
        Case(
            testDescription: "another version",
            request: "GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n",
            status: 505,
            code: "HTTP_VERSION_NOT_SUPPORTED"
        ),
        Case(testDescription: "no Host", request: "GET /healthz HTTP/1.1\r\n\r\n", status: 400),
        Case(testDescription: "two Hosts", request: "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", status: 400),
        Case(
            testDescription: "two Hosts in HTTP/1.0",
            request: "GET /healthz HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n",
            status: 400
        ),
        Case(testDescription: "a Host with a path", request: "GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n", status: 400),
        Case(testDescription: "a Host with a user", request: "GET /healthz HTTP/1.1\r\nHost: u@a\r\n\r\n", status: 400),
        Case(testDescription: "a Host with a wrong port", request: "GET /healthz HTTP/1.1\r\nHost: a:b\r\n\r\n", status: 400),
        Case(testDescription: "an empty Host", request: "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", status: 400),
        Case(
            testDescription: "a length and chunks",
            request: post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            status: 400
        ),
        Case(testDescription: "two lengths", request: post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", status: 400),
        Case(testDescription: "two lengths in one", request: post + "Content-Length: 2, 3\r\n\r\n{}", status: 400),
        Case(testDescription: "a negative length", request: post + "Content-Length: -2\r\n\r\n{}", status: 400),
        Case(
            testDescription: "a bad chunk size",
            request: post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
            status: 400
        ),
        Case(
            testDescription: "a chunk that is longer than it says",
            request: post + "Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
            status: 400
        ),
        Case(
            testDescription: "a bad chunk size in an upload",
            request: "POST /api/photos HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n3\r\n--b\r\nzz\r\n",
            status: 400
        ),
        Case(
            testDescription: "another transfer encoding",
            request: post + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            status: 501,
            code: "UNSUPPORTED_TRANSFER_ENCODING"
        ),
        Case(
            testDescription: "a transfer encoding without chunks",
            request: post + "Transfer-Encoding: gzip\r\n\r\n{}",
            status: 501,
            code: "UNSUPPORTED_TRANSFER_ENCODING"
        ),
        Case(
            testDescription: "chunks in HTTP/1.0",
            request: "POST /api/notes HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            status: 400
        ),
        Case(
            testDescription: "another expectation",
            request: post + "Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}",
            status: 417,
            code: "EXPECTATION_FAILED"
        ),
        Case(
            testDescription: "a header of 100 kB",
            request: "GET /healthz HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 100_000))\r\n\r\n",
            status: 431,
            code: "HEADERS_TOO_LARGE"
        ),
        Case(
            testDescription: "1,200 headers",
            request: "GET /healthz HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X: y\r\n", count: 1_200))\r\n",
            status: 431,
            code: "HEADERS_TOO_LARGE"
        ),
    ]

    @Test(arguments: cases) func `what is no correct HTTP is refused in the usual shape, and the connection ends`(wrong: Case)
        async throws
    {
        let gateway = try await EchoGateway.shared.value
        let connection = try gateway.connect()
        try await connection.send(wrong.request)
        let reply = try await connection.reply()
        #expect(reply.status == wrong.status && reply.code == wrong.code, "\(reply)")
        #expect(reply["Content-Type"] == "application/json; charset=utf-8")
        #expect(reply["X-Request-Id"] != nil && reply.body.contains(reply["X-Request-Id"] ?? "?"))
        #expect(reply["Connection"] == "close" && reply["Date"]?.hasSuffix(" GMT") == true, "\(reply.head)")
        try await eventually("the connection is closed in order", within: .seconds(20)) { connection.isClosed }
        #expect(connection.text.isEmpty, "nothing follows: \(connection.text)")
    }

    @Test func `a refusal bears the id that the client gave, and answers HEAD without a body`() async throws {
        let gateway = try await EchoGateway.shared.value
        let reply = try await gateway.ask("GET /healthz HTTP/1.1\r\nX-Request-Id: mine-1\r\n\r\n")
        #expect(reply.status == 400 && reply["X-Request-Id"] == "mine-1", "\(reply)")
        let connection = try gateway.connect()
        try await connection.send("HEAD /healthz HTTP/1.1\r\n\r\n")
        try await eventually("it is answered and closed", within: .seconds(20)) { connection.isClosed }
        #expect(connection.text.hasPrefix("HTTP/1.1 400 ") && connection.text.hasSuffix("\r\n\r\n"), "\(connection.text)")
    }

    @Test(arguments: [
        "GET /healthz HTTP/1.1\r\nHost: a.example:8080\r\n\r\n", "GET /healthz HTTP/1.1\r\nhOsT: [2001:db8::1]:80\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "GET http://a/healthz HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /healthz HTTP/1.0\r\n\r\n", "GET /healthz HTTP/1.0\r\nHost: a\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
    ]) func `correct requests are served`(request: String) async throws {
        let reply = try await EchoGateway.shared.value.ask(request)
        #expect(reply.status == 200 && reply.body == "alive\n", "\(reply)")
    }

    @Test func `a body in chunks is read`() async throws {
        let gateway = try await EchoGateway.shared.value
        let reply = try await gateway.ask(
            Self.post + "Transfer-Encoding: Chunked\r\n\r\n5;x=y\r\n{\"tex\r\n9\r\nt\":\"abc\"}\r\n0\r\nTrailer: t\r\n\r\n"
        )
        #expect(reply.status == 200 && reply.body.contains("\"abc\""), "\(reply)")
    }

    @Test func `a request behind a broken one is not served, and one before it is`() async throws {
        let gateway = try await EchoGateway.shared.value
        let connection = try gateway.connect()
        let good = "GET /api/notes?text=one HTTP/1.1\r\nHost: a\r\n\r\n"
        try await connection.send(good + "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + good)
        #expect(try await connection.reply().status == 200)
        #expect(try await connection.reply().status == 400)
        try await eventually("it is closed", within: .seconds(20)) { connection.isClosed }
        #expect(connection.text.isEmpty)
    }
}
