import Foundation
import TestSupport
import Testing

/// A gateway that starts, and one that stops, as clients that never repeat a request see it.
@Suite(.serialized) struct DrainTests {
    private static let get = "GET /api/notes?text=x HTTP/1.1\r\nHost: a\r\n\r\n"

    /// A gateway that stops, and takes no more connections.
    private func stopping(_ gateway: EchoGateway) async throws -> Task<Void, Never> {
        let stopping = Task { await gateway.stop() }
        try await eventually("no more connections are accepted") { (try? gateway.connect()) == nil }
        return stopping
    }

    @Test func `a connection that is open gets one more answer, which says that it is the last`() async throws {
        let gateway = try await EchoGateway(["http.drain-timeout": "60"])
        var connections = try (0..<4).map { _ in try gateway.connect() }
        // All but one have been used before.
        for connection in connections.dropFirst() {
            try await connection.send(Self.get)
            let reply = try await connection.reply()
            #expect(reply.status == 200 && reply["Connection"] == nil)
        }
        try await eventually("the first is accepted too") { gateway.openConnections == 4 }
        let stopping = try await stopping(gateway)
        for connection in connections {
            #expect(!connection.isClosed)
            try await connection.send(Self.get)
            let reply = try await connection.reply()
            #expect(reply.status == 200 && reply["Connection"] == "close", "\(reply)")
            try await eventually("it is closed") { connection.isClosed }
        }
        connections = []
        await stopping.value
    }

    @Test func `an idle connection is closed when http.drain-timeout is over`() async throws {
        let gateway = try await EchoGateway(["http.drain-timeout": "1"])
        let connection = try gateway.connect()
        try await connection.send(Self.get)
        #expect(try await connection.reply().status == 200)
        let started = ContinuousClock.now
        await gateway.stop()
        #expect(ContinuousClock.now - started >= .milliseconds(900))
        #expect(connection.isClosed)
    }

    @Test func `readyz says that it stops`() async throws {
        let gateway = try await EchoGateway(["http.drain-timeout": "60"])
        let connection = try gateway.connect()
        try await connection.send(Self.get)
        #expect(try await connection.reply().status == 200)
        let stopping = try await stopping(gateway)
        try await connection.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
        let reply = try await connection.reply()
        #expect(reply.status == 503 && reply.body.contains("the gateway stops"), "\(reply)")
        connection.finishSending()
        await stopping.value
    }

    @Test(arguments: [1, 60]) func `an upload that has begun is taken to its end`(drainTimeout: Int) async throws {
        let gateway = try await EchoGateway(["http.drain-timeout": "\(drainTimeout)"])
        let connection = try gateway.connect()
        let (size, half) = (400_000, [UInt8](repeating: 7, count: 200_000))
        let start = Array("--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a\"\r\n\r\n".utf8)
        let end = Array("\r\n--b--\r\n".utf8)
        try await connection.send(
            "POST /api/photos HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                + "Content-Length: \(start.count + size + end.count)\r\n\r\n"
        )
        try await connection.send(start + half)
        try await eventually("it is being stored") {
            FileManager.default.enumerator(atPath: gateway.files.path)?.contains { "\($0)".contains(".temporary/") } ?? false
        }
        let idle = try gateway.connect()
        try await eventually("both are accepted") { gateway.openConnections == 2 }
        let stopping = try await stopping(gateway)
        if drainTimeout == 1 { try await eventually("idle connections are closed") { idle.isClosed } }
        try await connection.send(half + end)
        let reply = try await connection.reply()
        #expect(reply.status == 200 && reply["Connection"] == "close", "\(reply)")
        connection.finishSending()
        idle.finishSending()
        await stopping.value
    }

    @Test func `a gateway without auth listens when gateway.ready-timeout is over, and then knows the routes there are`()
        async throws
    {
        let gateway = try await EchoGateway(["gateway.ready-timeout": "2"], isAsked: false)
        #expect(try await gateway.ask("GET /api/notes HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status == 200)
    }

    @Test func `while a service has not been found, no path and no method is said not to exist`() async throws {
        let gateway = try await EchoGateway(["gateway.services": "echo,other"])
        for request in ["GET /api/elsewhere", "DELETE /api/notes"] {
            let reply = try await gateway.ask("\(request) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(reply.status == 503, "\(request): \(reply)")
        }
        #expect(try await gateway.ask("GET /api/notes HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status == 200)
    }
}
