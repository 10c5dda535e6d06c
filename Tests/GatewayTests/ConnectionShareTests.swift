import TestSupport
import Testing

/// Clients that hold more connections than is their share (D22).
@Suite(.timeLimit(.minutes(5))) struct ConnectionShareTests {
    private static let question = "GET /api/notes?text=x HTTP/1.1\r\nHost: a\r\n\r\n"

    /// Connections that have sent a request and wait, oldest first.
    private func idle(_ count: Int, _ gateway: EchoGateway, from address: String) async throws -> [RawConnection] {
        var connections: [RawConnection] = []
        for _ in 0..<count {
            let connection = try RawConnection(port: gateway.port, from: address)
            try await connection.send(Self.question)
            #expect(try await connection.reply().status == 200)
            connections.append(connection)
        }
        return connections
    }

    @Test func `above an address's share the longest idle of its connections goes, and others' stay`() async throws {
        let gateway = try await EchoGateway(["http.address-connections": "20", "http.address-rate": "10000"])
        let others = try await idle(3, gateway, from: "127.0.0.2")
        let own = try await idle(20, gateway, from: "127.0.0.3")
        // The oldest is not the longest idle any more.
        try await own[0].send(Self.question)
        #expect(try await own[0].reply().status == 200)
        #expect(try await idle(5, gateway, from: "127.0.0.3").count == 5, "each is answered")
        for place in 1...5 { try await eventually("\(place) is closed", within: .seconds(20)) { own[place].isClosed } }
        for connection in [own[0], own[6], own[19]] + others {
            try await connection.send(Self.question)
            #expect(try await connection.reply().status == 200)
        }
        await gateway.stop()
    }

    @Test func `when all may not hold more, the longest idle make room: one that only opens shuts no other out`()
        async throws
    {
        let gateway = try await EchoGateway(["http.max-connections": "30", "http.address-rate": "10000"])
        var hogs: [RawConnection] = []
        for host in 2...4 { hogs += try await idle(10, gateway, from: "127.0.0.\(host)") }
        // Those that have sent nothing are idle too.
        for _ in 0..<10 { hogs.append(try RawConnection(port: gateway.port, from: "127.0.0.5")) }
        for _ in 0..<40 { #expect(try await gateway.ask(Self.question).status == 200) }
        try await eventually("the first are closed", within: .seconds(20)) { hogs.prefix(5).allSatisfy(\.isClosed) }
        await gateway.stop()
    }

    @Test func `what is being answered or streamed is not idle, and one more of that address is closed`() async throws {
        let gateway = try await EchoGateway(["http.address-connections": "2", "http.address-rate": "10000"])
        var busy: [RawConnection] = []
        for _ in 0..<2 {
            let connection = try RawConnection(port: gateway.port, from: "127.0.0.2")
            // A body that has not arrived: the head has been read when it is asked for.
            try await connection.send(
                "POST /api/notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 21\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            #expect(try await connection.reply().status == 100)
            try await connection.send("{\"text\":")
            busy.append(connection)
        }
        #expect(gateway.openConnections == 2)
        let more = try RawConnection(port: gateway.port, from: "127.0.0.2")
        try await more.send(Self.question)
        _ = try? await more.reply()
        try await eventually("one more is closed", within: .seconds(20)) { gateway.openConnections == 2 }
        #expect(try await gateway.ask(Self.question).status == 200, "another address")
        for connection in busy {
            try await connection.send("\"0123456789\"}")
            #expect(try await connection.reply().status < 500)
        }
        await gateway.stop()
    }
}
