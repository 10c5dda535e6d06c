import Kernel
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import HTTPServer

/// How replies are framed, and when a connection is kept.
@Suite(.timeLimit(.minutes(5))) struct ReplyTests {
    private static let pieces: HTTPResponse.Body = .writer(length: nil) { writer in
        for piece in ["one", "", "three"] { try await writer.write(ByteBuffer(string: piece)) }
    }

    @Sendable private static func answer(_ request: HTTPRequest) -> HTTPResponse {
        switch request.path {
        case "/bytes": HTTPResponse(.ok, ["Content-Type": "text/plain"], "hello")
        case "/empty": HTTPResponse(.created)
        case "/none": HTTPResponse(.noContent, ["Content-Length": "7"], "nothing")
        case "/same": HTTPResponse(.notModified)
        case "/long":
            HTTPResponse(
                .ok,
                [:],
                .writer(length: 6) { for piece in ["ab", "cdef"] { try await $0.write(ByteBuffer(string: piece)) } }
            )
        case "/pieces": HTTPResponse(.ok, [:], pieces)
        case "/break": HTTPResponse(.ok, ["Location": "a\r\nSet-Cookie: b\0"])
        default: HTTPResponse(.notFound)
        }
    }

    @Test func `what is there is sent with its length, and what is not in chunks`() async throws {
        try await serving(Self.answer) { port in
            let bytes = try await port.ask("GET /bytes")
            #expect(bytes.status == 200 && bytes.body == "hello" && bytes["Content-Length"] == "5", "\(bytes)")
            #expect(bytes["Content-Type"] == "text/plain" && bytes["Date"]?.hasSuffix(" GMT") == true, "\(bytes)")
            let empty = try await port.ask("GET /empty")
            #expect(empty.status == 201 && empty["Content-Length"] == "0" && empty.body.isEmpty, "\(empty)")
            let long = try await port.ask("GET /long")
            #expect(long["Content-Length"] == "6" && long["Transfer-Encoding"] == nil && long.body == "abcdef", "\(long)")
            let pieces = try await port.ask("GET /pieces")
            #expect(pieces["Content-Length"] == nil && pieces["Transfer-Encoding"] == "chunked", "\(pieces)")
            #expect(pieces.body == "3\r\none\r\n5\r\nthree\r\n0\r\n\r\n", "\(pieces)")
            for (path, status) in [("/none", 204), ("/same", 304)] {
                let reply = try await port.ask("GET \(path)")
                #expect(reply.status == status && reply["Content-Length"] == nil && reply["Transfer-Encoding"] == nil, "\(reply)")
            }
        }
    }

    @Test func `HEAD is answered like GET without the body, and the next reply follows at once`() async throws {
        try await serving(Self.answer) { port in
            let connection = try port.connect()
            for (path, length) in [("/bytes", "5"), ("/long", "6"), ("/pieces", nil), ("/empty", "0"), ("/none", nil)] {
                try await connection.send(request("HEAD \(path)"))
                let reply = try await connection.reply(isHead: true)
                #expect(reply["Content-Length"] == length, "\(path): \(reply)")
            }
            try await connection.send(request("GET /bytes"))
            #expect(try await connection.reply().body == "hello")
        }
    }

    @Test func `a client of HTTP/1.0 gets no chunks, and its connection ends`() async throws {
        try await serving(Self.answer) { port in
            for (path, body) in [("/pieces", "onethree"), ("/bytes", "hello")] {
                let connection = try port.connect()
                try await connection.send("GET \(path) HTTP/1.0\r\n\r\n")
                let reply = try await connection.reply()
                #expect(reply.body == body && reply["Connection"] == "close" && reply["Transfer-Encoding"] == nil, "\(reply)")
                try await eventually("it is closed") { connection.isClosed }
            }
        }
    }

    @Test func `a line break in a header does not begin another one`() async throws {
        try await serving(Self.answer) { port in
            let reply = try await port.ask("GET /break")
            #expect(reply["Location"] == "a  Set-Cookie: b" && reply["Set-Cookie"] == nil, "\(reply)")
        }
    }

    @Test func `a connection is kept until its client says so, and what comes after that is not served`() async throws {
        try await serving(Self.answer) { port in
            let connection = try port.connect()
            for _ in 0..<3 {
                try await connection.send(request("GET /bytes"))
                #expect(try await connection.reply()["Connection"] == nil)
            }
            try await connection.send(request("GET /bytes", "Connection: close\r\n") + request("GET /bytes"))
            #expect(try await connection.reply()["Connection"] == "close")
            try await eventually("it is closed") { connection.isClosed }
            #expect(connection.text.isEmpty)
        }
    }

    @Test(arguments: [1, 7, 1_000]) func `pipelined requests are answered in their order, in whatever pieces they arrive`(
        size: Int
    )
        async throws
    {
        try await serving { request in
            let body = try await request.body.collect(upTo: 100)
            // The earlier ones take longer.
            try await Task.sleep(for: .milliseconds(20 - (Int(request.path.dropFirst()) ?? 0)))
            return HTTPResponse(.ok, [:], "\(request.path) \(String(buffer: body))")
        } _: { port in
            let requests = (0..<20).map { index in
                index % 3 == 0
                    ? request("POST /\(index)", "Transfer-Encoding: chunked\r\n", "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
                    : request("GET /\(index)")
            }
            let connection = try port.connect()
            var rest = Array(requests.joined().utf8)[...]
            while !rest.isEmpty {
                try await connection.send(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
                if size == 7 { await Task.yield() }
            }
            for index in 0..<20 {
                let reply = try await connection.reply()
                #expect(reply.body == (index % 3 == 0 ? "/\(index) abc" : "/\(index) "), "\(reply)")
            }
            #expect(!connection.isClosed)
        }
    }

    private struct Broken: Error {}

    @Test func `when a reply breaks off its connection ends, so that no one takes it for whole`() async throws {
        try await serving { request in
            let length = request.path == "/chunks" ? nil : 10
            return HTTPResponse(
                .ok,
                [:],
                .writer(length: length) { writer in
                    try await writer.write(ByteBuffer(string: "begin"))
                    if request.path != "/short" { throw Broken() }
                }
            )
        } _: { port in
            for path in ["/chunks", "/length", "/short"] {
                let connection = try port.connect()
                try await connection.send(request("GET \(path)"))
                let failure = await #expect(throws: (any Error).self) {
                    let whole = try await connection.reply()
                    #expect(!whole.body.hasSuffix("0\r\n\r\n"))
                    throw Broken()
                }
                #expect(failure != nil && !connection.text.contains("0\r\n\r\n"))
            }
        }
    }

    @Test(arguments: [
        ("GET", "/a/b", "/a/b?-"), ("GET", "/a?x=1&y=%C3%A4+b&x=2#z", "/a?x=1&y=%C3%A4+b&x=2;x=1;y=ä+b;x=2"), ("GET", "/?", "/?"),
        ("GET", "/%zz?a=%zz&b&=c&d=%2", "/%zz?a=%zz&b&=c&d=%2;a=%zz;b=;=c;d=%2"), ("OPTIONS", "*", "*?-"),
        ("GET", "http://a.example/b?c=d", "/b?c=d;c=d"), ("GET", "http://a.example", "/?-"),
        ("GET", "http://a.example?x=y", "/?x=y;x=y"),
        ("GET", "/a://b?c", "/a://b?c;c="),
    ]) func `path and parameters are taken from the target`(method: String, target: String, expected: String) async throws {
        try await serving { request in
            let parameters = request.parameters.map { ";\($0.name)=\($0.value)" }.joined()
            return HTTPResponse(.ok, [:], "\(request.path)?\(request.query ?? "-")\(parameters)")
        } _: { port in
            let reply = try await port.ask("\(method) \(target)")
            #expect(reply.body == expected)
        }
    }

    @Test func `a header is found in any case, and several of one name together`() async throws {
        try await serving { request in
            var headers = request.headers
            let all = [headers[field: "X-ONE"], headers[field: "x-two"], headers[field: "x-three"]].map { $0 ?? "-" }
            headers[field: "x-one"] = nil
            headers[field: "x-two"] = "c"
            let now = [headers[field: "X-One"], headers[field: "X-Two"]].map { $0 ?? "-" }
            return HTTPResponse(.ok, [:], (all + now).joined(separator: ";"))
        } _: { port in
            let reply = try await port.ask("GET /", "X-One: 1\r\nx-Two: a\r\nX-TWO: b\r\n")
            #expect(reply.body == "1;a, b;-;-;c")
        }
    }

    @Test(arguments: [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
    ]) func `dates are written as HTTP writes them`(seconds: Int64, text: String) {
        #expect(HTTPDate.text(Instant(seconds: seconds)) == text)
    }
}
