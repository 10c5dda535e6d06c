import TestSupport
import Testing

/// Clients that begin to send a body and stop (PF-5).
@Suite(.timeLimit(.minutes(5))) struct StalledBodyTests {
    private static func post(_ body: String, of length: Int, from address: String = "192.0.2.1") -> String {
        "POST /api/notes HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: \(address)\r\nContent-Length: \(length)\r\n\r\n\(body)"
    }

    @Test func `keep no request out that is there as a whole, and of other addresses none at all`() async throws {
        let gateway = try await EchoGateway([
            "http.max-in-flight": "32", "http.address-rate": "10000", "http.trusted-proxies": "127.0.0.1",
        ])
        var stalled: [RawConnection] = []
        for _ in 0..<40 {
            let connection = try gateway.connect()
            try await connection.send(Self.post("{", of: 12))
            stalled.append(connection)
        }
        try await eventually("those beyond the share of their address are refused") {
            stalled.count { $0.text.hasPrefix("HTTP/1.1 503 ") } == 40 - 16
        }
        let gets = ["/api/notes", "/healthz"].map { "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n" }
        for request in gets + [Self.post("{}", of: 2)] {
            let reply = try await gateway.ask(request)
            #expect([200, 201].contains(reply.status), "\(reply)")
        }
        let other = try gateway.connect()
        try await other.send(Self.post("{", of: 12, from: "192.0.2.2"))
        try await eventually("it is accepted") { gateway.openConnections > 40 }
        try await other.send("\"text\":\"x\"}")
        let reply = try await other.reply()
        #expect([200, 201].contains(reply.status), "\(reply)")
        // What was stalled is still served when it goes on.
        let patient = try #require(stalled.first { $0.text.isEmpty })
        try await patient.send("\"text\":\"y\"}")
        let late = try await patient.reply()
        #expect([200, 201].contains(late.status), "\(late)")
        stalled = []
        await gateway.stop()
    }
}
