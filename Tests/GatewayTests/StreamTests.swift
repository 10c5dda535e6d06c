import Foundation
import Kernel
import TestSupport
import Testing

@testable import GatewayService

/// Streams of server-sent events over real connections (NO-7).
@Suite(.serialized) struct StreamTests {
    @Test func `a client gets what it has missed, then what happens, each once and in order`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1)
        for _ in 0..<3 { try world.append(to: ann.id) }
        let client = try await WatchClient(port, token: ann.token, lastEventID: "1")
        try await eventually("the backlog is there: \(client.connection.text)") { client.ids == [2, 3] }
        for _ in 0..<20 { try world.append(to: ann.id) }
        try await eventually("all are there") { client.ids == Array(2...23) }
        let text = client.connection.text
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("retry: ") && text.contains("event: note\ndata: {}\n\n"))
        let head = text.lowercased()
        for header in ["content-type: text/event-stream; charset=utf-8", "cache-control: no-store", "connection: close"] {
            #expect(head.contains("\r\n\(header)\r\n"), "\(head)")
        }
        await world.stop()
    }

    @Test func `without an id that is known the stream begins with a reset`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1)
        try world.append(to: ann.id)
        for id in [nil, "99", "x"] {
            let client = try await WatchClient(port, token: ann.token, lastEventID: id)
            try await eventually("it has the reset: \(client.connection.text)") {
                client.connection.text.contains("id: 1\nevent: reset\ndata: {}\n\n")
            }
        }
        await world.stop()
    }

    @Test func `what the bus loses is asked for as soon as a later id shows it`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1)
        let client = try await WatchClient(port, token: ann.token, lastEventID: "0")
        try await eventually("the stream is open: \(client.connection.text)") { client.status == 200 }
        let before = world.questions
        try world.append(to: ann.id)
        for _ in 0..<3 { try world.append(to: ann.id, isLost: true) }
        try world.append(to: ann.id)
        try await eventually("nothing is missing") { client.ids == Array(1...5) }
        #expect(world.questions - before <= 2)
        await world.stop()
    }

    @Test func `what was lost while the bus was away is there when it is back, without a later event`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1)
        let client = try await WatchClient(port, token: ann.token, lastEventID: "0")
        try await eventually("the stream is open: \(client.connection.text)") { client.status == 200 }
        await world.nats.kill()
        for _ in 0..<4 { try world.append(to: ann.id, isLost: true) }
        try await world.nats.start()
        try await eventually("all are there") { client.ids == Array(1...4) }
        await world.stop()
    }

    @Test func `a client that goes on at another gateway loses nothing and gets nothing twice`() async throws {
        let world = try await WatchWorld()
        let (first, firstPort) = try await world.addGateway()
        let (_, secondPort) = try await world.addGateway()
        let ann = try await world.user(1)
        let client = try await WatchClient(firstPort, token: ann.token, lastEventID: "0")
        try await eventually("the stream is open: \(client.connection.text)") { client.status == 200 }
        for _ in 0..<5 { try world.append(to: ann.id) }
        try await eventually("five are there") { client.ids == Array(1...5) }
        let stopping = Task { await first.stop() }
        try await eventually("the gateway that stops ends the stream in order") { client.hasEnded }
        try world.append(to: ann.id)
        let last = try #require(client.ids.last)
        let next = try await WatchClient(secondPort, token: ann.token, lastEventID: "\(last)")
        try world.append(to: ann.id)
        try await eventually("it goes on") { next.ids == Array((last + 1)...7) }
        await stopping.value
        try await eventually("its lease has ended with it") { world.leases == 1 }
        await world.stop()
    }

    @Test func `events are their user's alone`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let (ann, ben) = (try await world.user(1), try await world.user(2))
        let clients = (
            try await WatchClient(port, token: ann.token, lastEventID: "0"),
            try await WatchClient(port, token: ben.token, lastEventID: "0")
        )
        try await eventually("both are open") { clients.0.status == 200 && clients.1.status == 200 }
        try world.append(#"{"of":"ann"}"#, to: ann.id)
        try world.append(#"{"of":"ben"}"#, to: ben.id)
        try await eventually("each has one") { clients.0.ids == [1] && clients.1.ids == [1] }
        #expect(!clients.0.connection.text.contains("ben") && !clients.1.connection.text.contains("ann"))
        await world.stop()
    }

    @Test func `the stream of a session that has ended closes, and nothing is sent on it after that`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1)
        let client = try await WatchClient(port, token: ann.token, lastEventID: "0")
        try await eventually("the stream is open: \(client.connection.text)") { client.status == 200 }
        try await world.revoke(ann.session)
        try await eventually("the gateway knows") {
            try await WatchClient(port, token: ann.token, method: "HEAD").connection.reply(isHead: true).status == 401
        }
        try world.append(#"{"secret":true}"#, to: ann.id)
        try await eventually("it ends") { client.hasEnded }
        #expect(client.ids.isEmpty)
        try await eventually("there is no lease") { world.leases == 0 }
        await world.stop()
    }

    @Test func `a stream ends with its token`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1, life: .seconds(3))
        let client = try await WatchClient(port, token: ann.token, lastEventID: "0")
        try await eventually("the stream is open: \(client.connection.text)") { client.status == 200 }
        try await eventually("it ends") { client.hasEnded }
        await world.stop()
    }

    @Test func `a stream that the service refuses is refused, until another one has ended`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let (_, other) = try await world.addGateway()
        let ann = try await world.user(1)
        var clients: [WatchClient] = []
        for number in 0..<5 {
            let client = try await WatchClient(number % 2 == 0 ? port : other, token: ann.token, lastEventID: "0")
            try await eventually("stream \(number) is open") { client.status == 200 }
            clients.append(client)
        }
        let sixth = try await WatchClient(other, token: ann.token)
        let refusal = try await sixth.connection.reply()
        #expect(refusal.status == 429 && refusal.code == "TOO_MANY_STREAMS" && refusal["Retry-After"] == "10", "\(refusal)")
        // The client goes away without a word.
        clients.removeFirst()
        try await eventually("the lease has ended") { world.leases == 4 }
        let next = try await WatchClient(other, token: ann.token)
        try await eventually("there is room again") { next.status == 200 }
        await world.stop()
    }

    @Test func `a client that does not read is left, holds up no other, and has missed nothing when it comes back`() async throws
    {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1)
        let slow = try await WatchClient(port, token: ann.token, lastEventID: "0")
        let quick = try await WatchClient(port, token: ann.token, lastEventID: "0")
        try await eventually("both are open") { world.leases == 2 && quick.status == 200 }
        let data = "\"" + String(repeating: "x", count: 30_000) + "\""
        var sent = 0
        // Far more than the kernels of both ends keep.
        while world.leases == 2, sent < 2_000 {
            try world.append(data, to: ann.id)
            sent += 1
            try await eventually("the other one has it") { quick.ids.last == sent }
        }
        try await eventually("the slow one was left") { world.leases == 1 }
        #expect(quick.ids == Array(1...sent))
        let received = slow.ids
        #expect(received == Array(1...max(1, received.count)).prefix(received.count).map { $0 } && received.count < sent)
        let back = try await WatchClient(port, token: ann.token, lastEventID: "\(received.last ?? 0)")
        try await eventually("it has the rest") { back.ids == Array((received.count + 1)...sent) }
        await world.stop()
    }

    @Test func `a client that reads late, but not too late, gets all of it in order`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1)
        let data = "\"" + String(repeating: "x", count: 20_000) + "\""
        // One answer, and more than the kernels of both ends keep for a client that does not read.
        for _ in 0..<40 { try world.append(data, to: ann.id) }
        let client = try await WatchClient(port, token: ann.token, lastEventID: "0")
        try await eventually("the stream is open") { world.leases == 1 }
        let quick = try await WatchClient(port, token: ann.token, lastEventID: "40")
        try await eventually("there is another one") { world.leases == 2 && quick.status == 200 }
        for _ in 0..<2 { try world.append(data, to: ann.id) }
        try await eventually("the other one has what came later") { quick.ids == [41, 42] }
        #expect(world.leases == 2, "what waits for the first is not too much")
        try await eventually("the first has begun to read") { client.connection.text.contains("id: 42\nevent: ") }
        try await eventually("it has all") { client.ids == Array(1...42) }
        await world.stop()
    }

    /// The other request is not answered on the event loop.
    @Test(arguments: ["answered before", "sent before", "sent after"])
    func `a connection with another request can become a stream`(other: String) async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1)
        let connection = try RawConnection(port: port)
        let nowhere = "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"
        let stream = "GET /api/events HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 0\r\nAuthorization: Bearer \(ann.token)\r\n\r\n"
        switch other {
        case "answered before":
            try await connection.send(nowhere)
            #expect(try await connection.reply().status == 404)
            try await connection.send(stream)
        case "sent before":
            try await connection.send(nowhere + stream)
            #expect(try await connection.reply().status == 404)
        // It is never answered: the stream is the last reply of its connection.
        default: try await connection.send(stream + nowhere)
        }
        try await eventually("the stream is open: \(connection.text)") { connection.text.hasPrefix("HTTP/1.1 200 OK\r\n") }
        try world.append(to: ann.id)
        try await eventually("its event is there") { connection.text.contains("id: 1\nevent: note\ndata: {}\n\n") }
        #expect(!connection.text.contains(" 404 "))
        connection.finishSending()
        try await eventually("it ends with its client") { connection.isClosed && world.leases == 0 }
        await world.stop()
    }

    @Test func `a client of HTTP/1.0 gets its stream without chunks`() async throws {
        let world = try await WatchWorld()
        let (host, port) = try await world.addGateway()
        let ann = try await world.user(1)
        let connection = try RawConnection(port: port)
        try await connection.send("GET /api/events HTTP/1.0\r\nLast-Event-ID: 0\r\nAuthorization: Bearer \(ann.token)\r\n\r\n")
        try await eventually("the stream is open") { connection.text.contains("\r\n\r\nretry: ") }
        try world.append(to: ann.id)
        try await eventually("its event is there") { connection.text.hasSuffix("\n\nid: 1\nevent: note\ndata: {}\n\n") }
        let stopping = Task { await host.stop() }
        try await eventually("its end is the connection's") { connection.isClosed }
        #expect(connection.text.hasSuffix("data: {}\n\n"))
        connection.finishSending()
        await stopping.value
        await world.stop()
    }

    @Test func `a gateway opens as many streams as it may`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway(["http.max-streams": "1"])
        let (ann, ben) = (try await world.user(1), try await world.user(2))
        let client = try await WatchClient(port, token: ann.token)
        try await eventually("the stream is open: \(client.connection.text)") { client.status == 200 }
        let refused = try await WatchClient(port, token: ben.token).connection.reply()
        #expect(refused.status == 503 && refused["Retry-After"] == "5", "\(refused)")
        await world.stop()
    }

    @Test func `a stream is for signed-in callers, by the header alone, and has no parameters`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1)
        let nameless = try await WatchClient(port, token: nil, query: "?access_token=\(ann.token)").connection.reply()
        #expect(nameless.status == 401, "\(nameless)")
        for query in ["?last_event_id=0", "?lease_id=00000000-0000-7000-8000-000000000001", "?x=1"] {
            let refused = try await WatchClient(port, token: ann.token, query: query).connection.reply()
            #expect(refused.status == 400 && refused.code == "VALIDATION_ERROR", "\(query): \(refused)")
        }
        let long = try await WatchClient(port, token: ann.token, lastEventID: String(repeating: "1", count: 65)).connection
            .reply()
        #expect(long.status == 400 && long.body.contains("Last-Event-ID"), "\(long)")
        #expect(world.leases == 0)
        await world.stop()
    }

    @Test func `HEAD says what GET would be, and opens nothing`() async throws {
        let world = try await WatchWorld()
        let (_, port) = try await world.addGateway()
        let ann = try await world.user(1)
        let client = try await WatchClient(port, token: ann.token, method: "HEAD")
        let reply = try await client.connection.reply(isHead: true)
        #expect(reply.status == 200 && reply["Content-Type"] == "text/event-stream; charset=utf-8", "\(reply)")
        #expect(reply["Transfer-Encoding"] == nil, "\(reply)")
        try await eventually("it is closed") { client.connection.isClosed }
        #expect(client.connection.text.isEmpty, "not even the chunk that ends a stream")
        #expect(world.leases == 0 && world.questions == 0)
        await world.stop()
    }
}
