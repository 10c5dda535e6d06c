import HTTPServer
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

/// Bodies of requests, and requests that are none.
@Suite(.timeLimit(.minutes(5))) struct BodyTests {
    @Sendable private static func count(_ request: HTTPRequest) async throws -> HTTPResponse {
        HTTPResponse(.ok, [:], "\(try await request.body.collect(upTo: 1_000).readableBytes)")
    }

    @Test func `a body is read up to its limit, and beyond that refused, after which the connection is of use`() async throws {
        try await serving(Self.count) { port in
            let connection = try port.connect()
            for (size, status) in [(0, 200), (1_000, 200), (1_001, 413), (300_000, 413), (3, 200)] {
                try await connection.send(request("POST /", "Content-Length: \(size)\r\n", String(repeating: "x", count: size)))
                let reply = try await connection.reply()
                #expect(reply.status == status && reply["Connection"] == nil, "\(size): \(reply)")
                if status == 200 { #expect(reply.body == "\(size)") }
            }
        }
    }

    @Test func `a client that waits for 100 Continue gets it once, when its body is read`() async throws {
        try await serving { request in
            if request.path == "/refused" { return HTTPResponse(.forbidden) }
            return try await Self.count(request)
        } _: { port in
            let connection = try port.connect()
            try await connection.send(request("POST /", "Expect: 100-Continue\r\nContent-Length: 4\r\n"))
            #expect(try await connection.reply().status == 100)
            try await connection.send("ab")
            try await connection.send("cd")
            #expect(try await connection.reply().body == "4")
            try await connection.send(request("POST /refused", "Expect: 100-continue\r\nContent-Length: 4\r\n"))
            #expect(try await connection.reply().status == 403)
            // It may send the body all the same.
            try await connection.send("abcd" + request("GET /"))
            #expect(try await connection.reply().body == "0")
        }
    }

    @Test(arguments: [
        "FROB / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nfoo\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ]) func `what is no correct HTTP is answered 400 after the requests before it, and the connection ends`(text: String)
        async throws
    {
        try await serving(Self.count) { port in
            let connection = try port.connect()
            try await connection.send(request("GET /") + text + request("GET /"))
            #expect(try await connection.reply().status == 200)
            let reply = try await connection.reply()
            #expect(reply.status == 400 && reply["Connection"] == "close", "\(reply)")
            try await eventually("it is closed") { connection.isClosed }
            #expect(connection.text.isEmpty)
        }
    }

    @Test func `what the handler throws is 500`() async throws {
        try await serving { _ in
            throw CancellationError()
        } _: { port in
            let reply = try await port.ask("GET /")
            #expect(reply.status == 500, "\(reply)")
        }
    }

    @Test func `a task that waits for a body can be cancelled`() async throws {
        try await serving { request in
            let reading = Task { try await request.body.collect(upTo: 10) }
            try await Task.sleep(for: .milliseconds(20))
            reading.cancel()
            let result = await reading.result
            return HTTPResponse(.ok, [:], "\((try? result.get()) == nil)")
        } _: { port in
            let connection = try port.connect()
            try await connection.send(request("POST /", "Content-Length: 5\r\n", "ab"))
            #expect(try await connection.reply().body == "true")
            try await connection.send("cde" + request("POST /", "Content-Length: 0\r\n"))
            #expect(try await connection.reply().body == "false")
        }
    }

    @Test func `a body that no one takes is not read into memory, and then read to its end`() async throws {
        let isWanted = Atomic(false)
        try await serving { request in
            while !isWanted.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(5)) }
            let size = 32 << 20
            let all = try await request.body.collect(upTo: size)
            return HTTPResponse(.ok, [:], "\(all == ByteBuffer(repeating: 3, count: size))")
        } _: { port in
            let connection = try port.connect()
            let most = 32 << 20
            try await connection.send(request("POST /", "Content-Length: \(most)\r\n"))
            let piece = [UInt8](repeating: 3, count: 64 << 10)
            var (sent, lastTaken) = (0, ContinuousClock.now)
            try await eventually("nothing has been taken for a while") {
                let count = connection.offer(piece.prefix(most - sent))
                sent += count
                if count > 0 { lastTaken = .now }
                return sent == most || ContinuousClock.now - lastTaken > .seconds(1)
            }
            // The kernels of both ends keep some megabytes.
            #expect(sent < 24 << 20)
            isWanted.store(true, ordering: .relaxed)
            while sent < most {
                try await connection.send(Array(piece.prefix(most - sent)))
                sent += min(piece.count, most - sent)
            }
            #expect(try await connection.reply().body == "true")
        }
    }
}
