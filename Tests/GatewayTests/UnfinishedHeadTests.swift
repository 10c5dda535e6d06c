import TestSupport
import Testing

/// Clients whose heads are too large, or do not arrive (PF-5).
@Suite(.timeLimit(.minutes(5))) struct UnfinishedHeadTests {
    private static let whole = "GET /api/notes?text=x HTTP/1.1\r\nHost: a\r\n\r\n"

    private static func head(_ size: Int) -> String {
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: size)
    }

    @Test(arguments: [true, false])
    func `a head has at most 16 KiB, whether its end has arrived or not`(isWhole: Bool) async throws {
        let gateway = try await EchoGateway.shared.value
        let end = isWhole ? "\r\n\r\n" : ""
        let most = (16 << 10) - Self.head(0).utf8.count - 4
        if isWhole { #expect(try await gateway.ask(Self.head(most) + end).status == 200) }
        let connection = try gateway.connect()
        try await connection.send(Self.whole + Self.head(most + 5) + end)
        #expect(try await connection.reply().status == 200)
        let reply = try await connection.reply()
        #expect(reply.status == 431 && reply.code == "HEADERS_TOO_LARGE" && reply["Connection"] == "close", "\(reply)")
        try await eventually("it is closed", within: .seconds(20)) { connection.isClosed }
    }

    @Test func `a head that takes longer than http.head-timeout is answered 408, and an idle connection is kept`() async throws {
        let gateway = try await EchoGateway(["http.head-timeout": "1"])
        let (idle, slow) = (try gateway.connect(), try gateway.connect())
        try await idle.send(Self.whole)
        #expect(try await idle.reply().status == 200)
        try await slow.send("GET /healthz HTTP/1.1\r\nHo")
        let reply = try await slow.reply()
        #expect(reply.status == 408 && reply.code == "REQUEST_TIMEOUT" && reply["Connection"] == "close", "\(reply)")
        #expect(reply["X-Request-Id"] != nil && reply["Content-Type"] == "application/json; charset=utf-8", "\(reply)")
        try await eventually("it is closed", within: .seconds(20)) { slow.isClosed }
        try await idle.send(Self.whole)
        #expect(try await idle.reply().status == 200)
        await gateway.stop()
    }

    @Test func `one address has an eighth of the memory for heads, others are served, and it is given back`() async throws {
        let gateway = try await EchoGateway([
            "http.head-memory": "1", "http.head-timeout": "600", "http.address-rate": "10000",
        ])
        // Each takes 16 KiB, of 128.
        var stalled: [RawConnection] = []
        for _ in 0..<8 {
            let connection = try gateway.connect()
            try await connection.send(Self.head(10_000))
            stalled.append(connection)
            try await eventually("it is waited for") { gateway.headBytes == stalled.count * 16 << 10 }
        }
        for _ in 0..<4 {
            let connection = try gateway.connect()
            try await connection.send(Self.head(10_000))
            let reply = try await connection.reply()
            #expect(reply.status == 503 && reply.code == "UNAVAILABLE" && reply["Connection"] == "close", "\(reply)")
            #expect(reply["Retry-After"] == "1", "\(reply)")
        }
        // What arrives whole takes nothing.
        #expect(try await gateway.ask(Self.whole).status == 200)
        let other = try RawConnection(port: gateway.port, from: "127.0.0.2")
        try await other.send(Self.head(10_000))
        try await eventually("it is accepted") { gateway.headBytes == 9 * 16 << 10 }
        try await other.send("\r\n\r\n")
        #expect(try await other.reply().status == 200)
        try await stalled[0].send("\r\n\r\n")
        #expect(try await stalled[0].reply().status == 200)
        stalled = []
        try await eventually("all is given back") { gateway.headBytes == 0 }
        await gateway.stop()
    }

    @Test func `clients behind a trusted proxy have no share of their proxy's address`() async throws {
        let gateway = try await EchoGateway([
            "http.head-memory": "1", "http.head-timeout": "600", "http.address-rate": "10000",
            "http.trusted-proxies": "127.0.0.1",
        ])
        var stalled: [RawConnection] = []
        for _ in 0..<20 {
            let connection = try gateway.connect()
            try await connection.send(Self.head(10_000))
            stalled.append(connection)
        }
        try await eventually("all are waited for") { gateway.headBytes == 20 * 16 << 10 }
        for connection in stalled {
            try await connection.send("\r\n\r\n")
            #expect(try await connection.reply().status == 200)
        }
        await gateway.stop()
    }
}
