import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import GatewayService

/// When a connection on which nothing moves is closed, by a clock that only the test moves.
struct IdleTimeoutTests {
    private let stuck = Stuck()
    private let channel: EmbeddedChannel

    init() throws {
        channel = EmbeddedChannel(handlers: [stuck, IdleTimeout(.seconds(60))])
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80), promise: nil)
    }

    private func pass(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    private func receive(_ part: HTTPServerRequestPart) throws { try channel.writeInbound(part) }

    private func request() throws {
        try receive(.head(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")))
        try receive(.end(nil))
    }

    private func reply() {
        channel.pipeline.write(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)), promise: nil)
        channel.pipeline.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    }

    @Test func `without a request it is closed in time, and not before`() {
        pass(59)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive)
    }

    @Test func `a request that stops to arrive is cut off`() throws {
        pass(59)
        try receive(.head(HTTPRequestHead(version: .http1_1, method: .POST, uri: "/")))
        pass(59)
        try receive(.body(ByteBuffer(bytes: [1])))
        pass(59)
        #expect(channel.isActive, "each part counts")
        pass(1)
        #expect(!channel.isActive)
    }

    @Test(arguments: [1, 3]) func `what is being answered is waited for, and then the time begins`(requests: Int) throws {
        for _ in 0..<requests { try request() }
        for _ in 0..<requests {
            pass(600)
            #expect(channel.isActive)
            reply()
            stuck.release()
        }
        pass(59)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive)
    }

    @Test func `the time begins when the reply is written, so a client that reads slowly gets all of it`() throws {
        try request()
        reply()
        pass(600)
        #expect(channel.isActive)
        stuck.release()
        pass(59)
        #expect(channel.isActive)
        try request()
        reply()
        stuck.release()
        pass(59)
        #expect(channel.isActive, "a request counts")
        pass(1)
        #expect(!channel.isActive)
    }

    @Test func `a refused request that stops to arrive is cut off although it has its reply`() throws {
        try receive(.head(HTTPRequestHead(version: .http1_1, method: .POST, uri: "/")))
        reply()
        stuck.release()
        pass(60)
        #expect(!channel.isActive)
    }
}
