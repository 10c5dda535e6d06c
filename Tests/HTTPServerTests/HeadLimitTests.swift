import Kernel
import NIOCore
import NIOEmbedded
import NIOHTTP1
import TestSupport
import Testing

@testable import HTTPServer

/// What heads of requests may take while they arrive, by a clock that only the test moves.
struct HeadLimitTests {
    private static let whole = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let begun = "GET /a HTTP/1.1\r\nHost: a\r\nX: "

    private static func text(_ size: Int) -> String { String(repeating: "x", count: size) }

    @Test(arguments: [1, 7, 1_000], [0, 1])
    func `a head has its limit however it arrives, and nothing counts that follows one which is larger`(size: Int, extra: Int)
        throws
    {
        let heads = HTTPHeads(most: 1_000)
        let connection = try EmbeddedConnection(heads)
        let value = Self.text(1_000 - Self.begun.utf8.count - 4 + extra)
        var rest = Substring(Self.begun + value + "\r\n\r\n")
        var errors: [HTTPHeadError] = []
        while !rest.isEmpty {
            if let error = try connection.receive(String(rest.prefix(size))) { errors.append(error) }
            rest = rest.dropFirst(size)
        }
        #expect(errors == (extra == 0 ? [] : [.tooLarge]))
        #expect(try connection.parts().count == (extra == 0 ? 2 : 0))
        #expect(try connection.receive(Self.whole) == nil)
        #expect(try connection.parts().count == (extra == 0 ? 2 : 0))
        #expect(heads.bytes == 0)
    }

    @Test func `a head has its time from its first byte, and each one its own`() throws {
        let heads = HTTPHeads(timeout: .seconds(10))
        let connection = try EmbeddedConnection(heads)
        // Nothing has begun.
        #expect(try connection.pass(milliseconds: 60_000) == nil)
        for byte in Self.whole {
            #expect(try connection.receive(String(byte)) == nil)
            #expect(try connection.pass(milliseconds: 300) == nil)
        }
        #expect(try connection.parts().count == 2)
        #expect(try connection.pass(milliseconds: 60_000) == nil)
        _ = try connection.receive("G")
        for _ in 0..<9 {
            #expect(try connection.pass(milliseconds: 1_000) == nil)
            _ = try connection.receive("E")
        }
        #expect(try connection.pass(milliseconds: 999) == nil && heads.bytes > 0)
        #expect(try connection.pass(milliseconds: 1) == .tooSlow && heads.bytes == 0)
        #expect(try connection.receive(Self.whole) == nil)
        #expect(try connection.parts().isEmpty)
    }

    @Test func `no time passes while the server does not read`() throws {
        let connection = try EmbeddedConnection(HTTPHeads(timeout: .seconds(10)))
        _ = try connection.receive("GET ")
        #expect(try connection.pass(milliseconds: 6_000) == nil)
        _ = try connection.receive("/a", readsOn: false)
        #expect(try connection.pass(milliseconds: 60_000) == nil)
        connection.channel.read()
        #expect(try connection.pass(milliseconds: 3_999) == nil)
        #expect(try connection.pass(milliseconds: 1) == .tooSlow)
    }

    @Test func `one client has its share of the memory, others what is left, and what is whole or gone has none`() throws {
        let heads = HTTPHeads(inAll: 4_096, share: 2_048) { $0?.ipAddress.flatMap { IPAddress($0) } }
        let connections = try (0..<3).map { _ in try EmbeddedConnection(heads) }
        let piece = Self.begun + Self.text(900)
        #expect(try connections.map { try $0.receive(piece) } == [nil, nil, .tooMany])
        #expect(heads.bytes == 2_048)
        // What arrives as a whole needs none.
        #expect(try EmbeddedConnection(heads).receive(Self.whole) == nil)
        let others = try (2..<5).map { try EmbeddedConnection(heads, from: "192.0.2.\($0)") }
        #expect(try others.map { try $0.receive(piece) } == [nil, nil, .tooMany])
        #expect(heads.bytes == 4_096)
        try connections[0].close()
        #expect(heads.bytes == 3_072)
        _ = try connections[1].receive("\r\n\r\n")
        #expect(try connections[1].parts().count == 2 && heads.bytes == 2_048)
        let last = try EmbeddedConnection(heads)
        #expect(try last.receive(piece) == nil && heads.bytes == 3_072)
        for connection in connections + others + [last] { try connection.close() }
        #expect(heads.bytes == 0)
    }

    @Test func `what is no HTTP reaches the parser at once`() throws {
        let connection = try EmbeddedConnection(HTTPHeads())
        #expect(throws: HTTPParserError.self) { _ = try connection.receive("\u{16}\u{3}\u{1}") }
        #expect(try connection.receive(Self.whole) == nil)
        #expect(try connection.parts().isEmpty)
    }

    @Test func `half a head before the client's end is no whole request`() throws {
        let heads = HTTPHeads()
        let connection = try EmbeddedConnection(heads)
        _ = try connection.receive(Self.begun)
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(throws: HTTPParserError.self) { try connection.channel.throwIfErrorCaught() }
        #expect(heads.bytes == 0)
    }

    @Test func `nothing is kept behind a request for another protocol`() throws {
        let heads = HTTPHeads()
        let connection = try EmbeddedConnection(heads)
        _ = try connection.receive("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: b\r\n\r\n")
        for _ in 0..<100 { #expect(try connection.receive(Self.whole + Self.begun) == nil) }
        #expect(try connection.parts().count == 2 && heads.bytes == 0)
    }

    /// Requests of every kind, as text and as what a parser says of them.
    private static func requests(_ numbers: inout Seeded) -> String {
        (0..<Int.random(in: 1...6, using: &numbers)).map { index in
            let body = numbers.pick(["", "ab", "\r\n\r\n", "\n\n\nG", "GET / HTTP/1.1\r\n\r\n", text(200)])
            let head = "POST /\(index) HTTP/1.1\r\nHost: a\r\n"
            return switch Int.random(in: 0..<5, using: &numbers) {
            case 0: "GET /\(index) HTTP/1.1\r\nHost: a\r\nX:\r\nY: \(text(300))\r\n\r\n"
            case 1: "\r\n\r\nGET /\(index) HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
            case 2: head + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            case 3 where !body.isEmpty:
                head + "Transfer-Encoding: chunked\r\n\r\n\(String(body.utf8.count, radix: 16));e=f\r\n\(body)\r\n0\r\n\r\n"
            default: head + "Transfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n0\r\nT: u\r\n\r\n"
            }
        }.joined()
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `requests are the same as without limits, in whatever pieces they arrive, and no memory is left counted`(seed: UInt64)
        throws
    {
        var numbers = Seeded(seed)
        let text = Self.requests(&numbers)
        let plain = try EmbeddedConnection(nil)
        _ = try plain.receive(text)
        let expected = try plain.parts()
        let heads = HTTPHeads(most: 512)
        let connection = try EmbeddedConnection(heads)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let piece = rest.prefix(numbers.chance(20) ? rest.count : Int.random(in: 1...40, using: &numbers))
            rest = rest.dropFirst(piece.count)
            #expect(try connection.receive(String(decoding: piece, as: UTF8.self)) == nil)
            #expect(heads.bytes <= 512)
        }
        #expect(try connection.parts() == expected, "\(text)")
        #expect(heads.bytes == 0)
    }
}

/// Heads that do not arrive, on sockets.
@Suite(.timeLimit(.minutes(5))) struct HeadReplyTests {
    @Test(arguments: ["large", "slow", "many"])
    func `a head that is not waited for is answered, and the connection ends`(why: String) async throws {
        let (inAll, timeout) = (why == "many" ? 100 : 10_000, why == "slow" ? 50 : 600_000)
        let heads = HTTPHeads(most: 2_000, inAll: inAll, timeout: .milliseconds(timeout))
        let server = try await HTTPServer.start(host: "127.0.0.1", port: 0, heads: heads) { _ in HTTPResponse(.ok) }
        let port = Port(number: UInt16(server.port))
        let connection = try port.connect()
        let value = String(repeating: "x", count: why == "large" ? 2_000 : 500)
        try await connection.send(request("GET /") + "GET / HTTP/1.1\r\nX: " + value)
        #expect(try await connection.reply().status == 200)
        let reply = try await connection.reply()
        #expect(reply.status == ["large": 431, "slow": 408][why, default: 503] && reply["Connection"] == "close", "\(reply)")
        try await eventually("it is closed") { connection.isClosed }
        #expect(heads.bytes == 0)
        #expect(try await port.ask("GET /").status == 200)
        await server.stop()
    }
}
