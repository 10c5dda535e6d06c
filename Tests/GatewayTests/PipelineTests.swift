import TestSupport
import Testing

/// Clients that send requests without waiting for the replies.
@Suite(.timeLimit(.minutes(10))) struct PipelineTests {
    private static let get = "GET /api/notes?text=x HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `a client that sends more at once than is kept gets replies, then a refusal, and others are served meanwhile`()
        async throws
    {
        let gateway = try await EchoGateway.shared.value
        let connection = try gateway.connect()
        try await connection.send(String(repeating: Self.get, count: 5_000))
        let other = try await gateway.ask(Self.get)
        #expect(other.status == 200)
        var served = 0
        var reply = try await connection.reply()
        while reply.status == 200 {
            served += 1
            reply = try await connection.reply()
        }
        #expect(reply.status == 429 && reply.code == "RATE_LIMITED" && reply["Connection"] == "close", "\(reply)")
        #expect(reply["Retry-After"] == "1", "\(reply)")
        #expect(served >= 256)
        try await eventually("it is closed", within: .seconds(20)) { connection.isClosed }
    }

    /// Such replies would all be kept in memory.
    @Test func `a client that asks and does not read is not read from any more, and gets every reply when it does`()
        async throws
    {
        let gateway = try await EchoGateway.shared.value
        // Not so many in one read that they would be refused.
        let text = String(repeating: "x", count: 4_000)
        let request = Array("GET /api/notes?text=\(text) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        let connection = try gateway.connect(sendBuffer: 64 << 10)
        try await connection.send(request)
        let one = try await connection.reply()
        #expect(one.status == 200, "\(one)")
        let size = one.head.utf8.count + 4 + one.body.utf8.count
        let many = Array(repeatElement(request, count: 100).joined())
        let most = 64 << 20
        var sent = 0
        var lastTaken = ContinuousClock.now
        try await eventually("nothing has been taken for a while", within: .seconds(200)) {
            let count = connection.offer(many[(sent % many.count)...])
            sent += count
            if count > 0 { lastTaken = .now }
            return sent > most || ContinuousClock.now - lastTaken > .seconds(2)
        }
        try #require(sent < most)
        // The rest of the last one, which is answered when all others are.
        let rest = (request.count - sent % request.count) % request.count
        var (waiting, received) = (request.suffix(rest), 0)
        try await eventually("every reply is there", within: .seconds(200)) {
            received += connection.discard()
            waiting = waiting.dropFirst(connection.offer(waiting))
            return received >= (sent + rest) / request.count * size
        }
        #expect(received == (sent + rest) / request.count * size && !connection.isClosed)
    }
}
