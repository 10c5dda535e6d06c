import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayService

/// How long a connection is read from after its last reply, by a clock that only the test moves.
struct LingeringCloseTests {
    /// Closes the way out only, as a socket does; an embedded channel knows no such thing.
    private final class HalfClose: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        private(set) var isHalfClosed = false

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            guard mode == .output else { return context.close(mode: mode, promise: promise) }
            isHalfClosed = true
            promise?.succeed()
        }
    }

    private let halfClose = HalfClose()
    private let channel: EmbeddedChannel

    init() throws {
        channel = EmbeddedChannel(handlers: [halfClose, LingeringClose()])
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80), promise: nil)
    }

    @Test func `a client that goes on sending after the last reply is cut off after five seconds`() throws {
        #expect(halfClose.isHalfClosed)
        for _ in 0..<49 {
            channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
            try channel.writeInbound(ByteBuffer(bytes: [32]))
        }
        #expect(channel.isActive, "until then its bytes are thrown away, so that it can read the reply")
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
        #expect(!channel.isActive)
    }

    @Test func `a client that closes too is not waited for`() {
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(!channel.isActive)
    }

    @Test(arguments: [false, true]) func `a client that closes too still gets what is not written yet`(closesFirst: Bool) throws {
        let (halfClose, stuck) = (HalfClose(), Stuck())
        let channel = EmbeddedChannel(handlers: [halfClose, stuck])
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80), promise: nil)
        if closesFirst { channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        try channel.pipeline.syncOperations.addHandler(LingeringClose())
        if !closesFirst { channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        #expect(channel.isActive && !halfClose.isHalfClosed)
        stuck.release()
        // A socket makes a whole close of half a one when the other half is closed already.
        #expect(closesFirst ? halfClose.isHalfClosed : !channel.isActive)
    }

    @Test func `a client that reads slowly has five seconds from when it has its reply`() throws {
        let stuck = Stuck()
        let channel = EmbeddedChannel(handlers: [HalfClose(), stuck])
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80), promise: nil)
        try channel.pipeline.syncOperations.addHandler(LingeringClose())
        channel.embeddedEventLoop.advanceTime(by: .seconds(600))
        #expect(channel.isActive)
        stuck.release()
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(4_900))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
        #expect(!channel.isActive)
    }

    @Test func `a client that sends more than 64 MB is cut off at once`() throws {
        let megabyte = ByteBuffer(repeating: 32, count: 1 << 20)
        for _ in 0..<64 { try channel.writeInbound(megabyte) }
        #expect(channel.isActive)
        try channel.writeInbound(ByteBuffer(bytes: [32]))
        #expect(!channel.isActive)
    }
}
