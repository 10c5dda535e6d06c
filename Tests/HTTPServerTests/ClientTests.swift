import Dispatch
import HTTPServer
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestSupport
import Testing

/// Clients that do not read or hang up, and servers that stop.
@Suite(.timeLimit(.minutes(5))) struct ClientTests {
    @Test func `a reply waits for a client that does not read, and is not kept in memory`() async throws {
        let written = Atomic(0)
        let (size, most) = (64 << 10, 64 << 20)
        try await serving { _ in
            HTTPResponse(
                .ok,
                [:],
                .writer(length: most) { writer in
                    for index in 0..<most / size {
                        try await writer.write(ByteBuffer(repeating: UInt8(truncatingIfNeeded: index), count: size))
                        written.add(size, ordering: .relaxed)
                    }
                }
            )
        } _: { port in
            let connection = try port.connect()
            try await connection.send(request("GET /"))
            var (last, since) = (-1, ContinuousClock.now)
            try await eventually("nothing has been written for a while") {
                let now = written.load(ordering: .relaxed)
                if now != last { (last, since) = (now, .now) }
                return ContinuousClock.now - since > .seconds(1)
            }
            // The kernels of both ends keep some megabytes.
            #expect(last > 0 && last < 24 << 20)
            var received = 0
            try await eventually("the client has all of it") {
                received += connection.discard()
                return received > most && written.load(ordering: .relaxed) == most
            }
            #expect(!connection.isClosed)
        }
    }

    @Test func `no more is written than the connection's loop has come to`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let written = Atomic(0)
        let isHeld = Atomic(false)
        let end = DispatchSemaphore(value: 0)
        let server = try await HTTPServer.start(host: "127.0.0.1", port: 0, on: group) { request in
            HTTPResponse(
                .ok,
                [:],
                .writer(length: 16_000) { writer in
                    // The loop has other things to do.
                    request.channel.eventLoop.execute {
                        isHeld.store(true, ordering: .relaxed)
                        end.wait()
                    }
                    for _ in 0..<1_000 {
                        written.add(1, ordering: .relaxed)
                        try await writer.write(ByteBuffer(repeating: 1, count: 16))
                    }
                }
            )
        }
        let connection = try RawConnection(port: UInt16(server.port))
        try await connection.send(request("GET /"))
        try await eventually("it writes") { isHeld.load(ordering: .relaxed) && written.load(ordering: .relaxed) > 0 }
        // More time than a thousand pieces need.
        for _ in 0..<20_000 { await Task.yield() }
        #expect(written.load(ordering: .relaxed) == 1)
        end.signal()
        #expect(try await connection.reply().body.utf8.count == 16_000)
        await server.stop()
        try await group.shutdownGracefully()
    }

    /// What a handler has seen.
    private final class Seen: Sendable {
        private let state = Mutex<[String]>([])
        var all: [String] { state.withLock { $0 } }
        func note(_ text: String) { state.withLock { $0.append(text) } }
    }

    @Test(arguments: ["works", "reads", "writes"]) func `a client that hangs up ends the task of its request`(what: String)
        async throws
    {
        let seen = Seen()
        try await serving { request in
            if request.path == "/after" { return HTTPResponse(.ok) }
            seen.note("begun")
            do {
                switch what {
                case "works": try await Task.sleep(for: .seconds(600))
                case "reads": _ = try await request.body.collect(upTo: 1_000)
                default:
                    return HTTPResponse(
                        .ok,
                        [:],
                        .writer(length: nil) { writer in
                            do { while true { try await writer.write(ByteBuffer(repeating: 0, count: 1 << 20)) } } catch {
                                seen.note("ended")
                                throw error
                            }
                        }
                    )
                }
            } catch { seen.note("ended") }
            return HTTPResponse(.ok)
        } _: { port in
            var connection: RawConnection? = try port.connect()
            try await connection?.send(
                request("POST /", what == "reads" ? "Content-Length: 100\r\n" : "", what == "reads" ? "abc" : "")
            )
            try await eventually("it has begun") { seen.all == ["begun"] }
            connection = nil
            try await eventually("it has ended") { seen.all == ["begun", "ended"] }
            #expect(try await port.ask("GET /after").status == 200)
        }
    }

    @Test func `a server that stops finishes what runs, says that these replies are the last, and closes idle connections`()
        async throws
    {
        let begun = Atomic(0)
        let mayEnd = Atomic(false)
        let server = try await HTTPServer.start(host: "127.0.0.1", port: 0) { request in
            if request.path == "/quick" { return HTTPResponse(.ok) }
            begun.add(1, ordering: .relaxed)
            while !mayEnd.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(5)) }
            let body = try await request.body.collect(upTo: 100)
            return HTTPResponse(.ok, [:], .writer(length: nil) { try await $0.write(body) })
        }
        let port = UInt16(server.port)
        let (idle, busy, uploading) = (
            try RawConnection(port: port), try RawConnection(port: port), try RawConnection(port: port)
        )
        try await idle.send(request("GET /quick"))
        #expect(try await idle.reply().status == 200)
        try await busy.send(request("GET /"))
        try await uploading.send(request("POST /", "Content-Length: 6\r\n", "abc"))
        try await eventually("both run") { begun.load(ordering: .relaxed) == 2 }
        let hasStopped = Atomic(false)
        let stopping = Task {
            await server.stop()
            hasStopped.store(true, ordering: .relaxed)
        }
        try await eventually("the idle one is closed") { idle.isClosed }
        try await eventually("no more are accepted") { (try? RawConnection(port: port)) == nil }
        #expect(!hasStopped.load(ordering: .relaxed) && !busy.isClosed)
        mayEnd.store(true, ordering: .relaxed)
        try await uploading.send("def")
        for (connection, body) in [(busy, "0\r\n\r\n"), (uploading, "6\r\nabcdef\r\n0\r\n\r\n")] {
            let reply = try await connection.reply()
            #expect(reply["Connection"] == "close" && reply.body == body, "\(reply)")
        }
        await stopping.value
    }

    @Test func `a server that is run stops when its task is cancelled`() async throws {
        let server = try await HTTPServer.start(host: "localhost", port: 0) { _ in HTTPResponse(.ok) }
        let running = Task { await server.run() }
        #expect(server.port > 0 && server.address?.ipAddress != nil)
        running.cancel()
        await running.value
        await #expect(throws: (any Error).self) {
            _ = try await HTTPServer.start(host: "nowhere.invalid", port: 0) { _ in HTTPResponse(.ok) }
        }
    }

    @Test func `a port that is taken is an error`() async throws {
        try await serving { _ in
            HTTPResponse(.ok)
        } _: { port in
            await #expect(throws: (any Error).self) {
                _ = try await HTTPServer.start(host: "127.0.0.1", port: Int(port.number)) { _ in HTTPResponse(.ok) }
            }
        }
    }
}
