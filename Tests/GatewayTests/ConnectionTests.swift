import Foundation
import TestSupport
import Testing

/// When a connection is kept, when it ends, and that its client always gets the reply.
struct ConnectionTests {
    private static let get = "GET /api/notes?text=x HTTP/1.1\r\nHost: a\r\n"

    /// The head of an upload of a file of so many bytes, and the form around the file.
    private static func upload(
        _ path: String = "/api/photos",
        size: Int,
        _ headers: String = ""
    ) -> (head: String, start: [UInt8], end: [UInt8]) {
        let start = Array("--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a\"\r\n\r\n".utf8)
        let end = Array("\r\n--b--\r\n".utf8)
        let head =
            "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            + "Content-Length: \(start.count + size + end.count)\r\n\(headers)\r\n"
        return (head, start, end)
    }

    @Test func `a connection is kept, for one request after the other and for several at once`() async throws {
        let connection = try await EchoGateway.shared.value.connect()
        for _ in 0..<3 {
            try await connection.send(Self.get + "\r\n")
            let reply = try await connection.reply()
            #expect(reply.status == 200 && reply["Connection"] == nil, "\(reply)")
        }
        try await connection.send(String(repeating: Self.get + "\r\n", count: 4))
        for _ in 0..<4 { #expect(try await connection.reply().status == 200) }
        #expect(!connection.isClosed)
    }

    /// Ordinary requests and others take different ways through the gateway.
    @Test(arguments: 1...8) func `replies keep the order of requests of every kind, in whatever pieces they arrive`(seed: UInt64)
        async throws
    {
        let connection = try await EchoGateway.shared.value.connect()
        var numbers = Seeded(seed)
        var (bytes, expected): ([UInt8], [String]) = ([], [])
        for index in 0..<40 {
            let text = "t\(index)"
            let request =
                switch UInt64.random(in: 0..<6, using: &numbers) {
                case 0, 1: "GET /api/notes?text=\(text) HTTP/1.1\r\nHost: a\r\n\r\n"
                case 2: Self.say("Content-Length: \(text.utf8.count + 11)\r\n\r\n{\"text\":\"\(text)\"}")
                case 3:
                    Self.say(
                        "Transfer-Encoding: chunked\r\n\r\n\(String(text.utf8.count + 11, radix: 16))\r\n{\"text\":\"\(text)\"}\r\n0\r\n\r\n"
                    )
                case 4: "GET /nowhere/\(text) HTTP/1.1\r\nHost: a\r\nX-Request-Id: \(text)\r\n\r\n"
                default: "GET /api/notes?nothing=\(text) HTTP/1.1\r\nHost: a\r\nX-Request-Id: \(text)\r\n\r\n"
                }
            bytes += request.utf8
            expected.append("\"\(text)\"")
        }
        let (sent, seeded) = (bytes, numbers)
        let sending = Task {
            var (rest, numbers) = (sent[...], seeded)
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...400, using: &numbers))
                try await connection.send(Array(piece))
                rest = rest.dropFirst(piece.count)
                if Bool.random(using: &numbers) { await Task.yield() }
            }
            // A client that says no more still gets its replies.
            connection.finishSending()
        }
        for text in expected {
            let reply = try await connection.reply()
            #expect([200, 201, 400, 404].contains(reply.status) && reply.body.contains(text), "\(text): \(reply)")
        }
        try await sending.value
        try await eventually("it is closed", within: .seconds(20)) { connection.isClosed }
        #expect(connection.text.isEmpty)
    }

    /// Ordinary requests (o) are answered on the event loop, others (l) by a task of their own.
    @Test(arguments: ["ol", "lo", "oolo", "lool", "olollo"], [false, true])
    func `the first request that goes the long way keeps its place among those that do not`(kinds: String, isPipelined: Bool)
        async throws
    {
        let connection = try await EchoGateway.shared.value.connect()
        let requests = kinds.enumerated().map { index, kind in
            kind == "o"
                ? (text: "GET /api/notes?text=t\(index) HTTP/1.1\r\nHost: a\r\n\r\n", status: 200, index: index)
                : (text: "GET /nowhere HTTP/1.1\r\nHost: a\r\nX-Request-Id: t\(index)\r\n\r\n", status: 404, index: index)
        }
        if isPipelined { try await connection.send(requests.map { $0.text }.joined()) }
        for request in requests {
            if !isPipelined { try await connection.send(request.text) }
            let reply = try await connection.reply()
            #expect(reply.status == request.status && reply.body.contains("\"t\(request.index)\""), "\(reply)")
        }
        #expect(!connection.isClosed)
    }

    @Test(arguments: ["", "GET /api/notes?text=x", "GET /nowhere"])
    func `a connection without a request ends when its client closes its side`(request: String) async throws {
        let connection = try await EchoGateway.shared.value.connect()
        if !request.isEmpty {
            try await connection.send("\(request) HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await connection.reply()
        }
        connection.finishSending()
        try await eventually("it is closed, long before http.idle-timeout", within: .seconds(20)) { connection.isClosed }
    }

    private static func say(_ rest: String) -> String {
        "POST /api/notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\(rest)"
    }

    @Test(arguments: ["close", "Close", "foo, close"]) func `the last reply says so, and what follows is not served`(
        value: String
    )
        async throws
    {
        let connection = try await EchoGateway.shared.value.connect()
        try await connection.send(Self.get + "Connection: \(value)\r\n\r\n" + Self.get + "\r\n")
        let reply = try await connection.reply()
        #expect(reply.status == 200 && reply["Connection"] == "close", "\(reply.head)")
        try await eventually("it is closed", within: .seconds(20)) { connection.isClosed }
        #expect(connection.text.isEmpty)
    }

    @Test func `HTTP/1.0 ends after the reply, unless the client wants it kept and the reply says that it is`() async throws {
        let connection = try await EchoGateway.shared.value.connect()
        let request = "GET /api/notes?text=x HTTP/1.0\r\n"
        try await connection.send(request + "Connection: keep-alive\r\n\r\n")
        let kept = try await connection.reply()
        #expect(kept.status == 200 && kept["Connection"] == "keep-alive", "\(kept.head)")
        try await connection.send(request + "\r\n")
        let last = try await connection.reply()
        #expect(last.status == 200 && last["Connection"] == "close", "\(last.head)")
        try await eventually("it is closed", within: .seconds(20)) { connection.isClosed }
    }

    @Test func `a request for another protocol is answered as HTTP/1.1, and the connection ends`() async throws {
        let connection = try await EchoGateway.shared.value.connect()
        try await connection.send(
            Self.get + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n"
        )
        let reply = try await connection.reply()
        #expect(reply.status == 200 && reply["Connection"] == "close", "\(reply.head)")
        try await eventually("it is closed", within: .seconds(20)) { connection.isClosed }
    }

    @Test func `a client that waits for 100 Continue gets it once, before its body is read`() async throws {
        let connection = try await EchoGateway.shared.value.connect()
        let (head, start, end) = Self.upload(size: 2_000_000, "Expect: 100-continue\r\n")
        try await connection.send(head)
        let interim = try await connection.reply()
        #expect(interim.status == 100 && interim.head.hasPrefix("HTTP/1.1 100 "), "\(interim)")
        try await connection.send(start + [UInt8](repeating: 7, count: 2_000_000) + end)
        let reply = try await connection.reply()
        #expect(reply.status == 200 && reply.body.contains("2000000"), "\(reply)")
        try await connection.send("POST /api/notes HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n")
        #expect(try await connection.reply().status == 100, "the connection is kept")
        try await connection.send("{}")
        #expect(try await connection.reply().status == 200)
    }

    @Test(arguments: [("/api/private/photos", 1_000, 401), ("/api/photos", 5_000_000, 413), ("/api/nothing", 1_000, 404)])
    func `a client that waits gets a refusal in place of 100 Continue`(path: String, size: Int, status: Int) async throws {
        let connection = try await EchoGateway.shared.value.connect()
        try await connection.send(Self.upload(path, size: size, "Expect: 100-continue\r\n").head)
        let reply = try await connection.reply()
        #expect(reply.status == status && reply["Connection"] == "close", "\(reply)")
        try await eventually("it is closed", within: .seconds(20)) { connection.isClosed }
    }

    @Test(arguments: ["", "Connection: close\r\n"], [("/api/private/photos", 401), ("/api/photos", 413)])
    func `a refused upload is answered while its client still sends, which loses no reply and waits for nothing`(
        headers: String,
        refusal: (path: String, status: Int)
    ) async throws {
        let connection = try await EchoGateway.shared.value.connect()
        let size = 20_000_000
        let (head, start, end) = Self.upload(refusal.path, size: size, headers)
        let began = ContinuousClock.now
        try await connection.send(Array(head.utf8) + start + [UInt8](repeating: 7, count: size / 2))
        let reply = try await connection.reply()
        #expect(reply.status == refusal.status && reply["Connection"] == "close", "\(reply)")
        try await eventually("the gateway has closed its side", within: .seconds(20)) { connection.isClosed }
        // Who reads only after the last byte still finds the reply, not a reset.
        let late = try await EchoGateway.shared.value.connect()
        try await late.send(Array(head.utf8) + start + [UInt8](repeating: 7, count: size) + end)
        #expect(try await late.reply().status == refusal.status)
        #expect(ContinuousClock.now - began < .seconds(30))
    }

    @Test func `a client that goes on sending after its refusal is cut off`() async throws {
        let connection = try await EchoGateway.shared.value.connect()
        try await connection.send(Self.upload("/api/private/photos", size: 100_000_000).head)
        #expect(try await connection.reply().status == 401)
        try await eventually("a byte now and then is not read for ever") { !connection.takes(1) }
    }

    @Test func `a small refused body is read to its end, and the connection is kept`() async throws {
        let connection = try await EchoGateway.shared.value.connect()
        let head = "POST /api/private/notes HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n"
        for _ in 0..<2 {
            try await connection.send(head)
            let reply = try await connection.reply()
            #expect(reply.status == 401 && reply["Connection"] == nil, "\(reply)")
            try await connection.send([UInt8](repeating: 32, count: 60_000))
        }
        try await connection.send(Self.get + "\r\n")
        #expect(try await connection.reply().status == 200)
    }

    @Test func `a client that has said all and closes its side gets the reply`() async throws {
        let connection = try await EchoGateway.shared.value.connect()
        try await connection.send(Self.get + "\r\n")
        connection.finishSending()
        #expect(try await connection.reply().status == 200)
        try await eventually("it is closed", within: .seconds(20)) { connection.isClosed }
    }
}
