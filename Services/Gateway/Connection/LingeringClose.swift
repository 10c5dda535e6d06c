internal import NIOCore

/// Ends a connection whose last reply has been written (RFC 9112 §9.6): closes the way out, and throws away what still arrives until the
/// client closes too. A plain close with unread bytes would reset the connection, and the client could lose the reply.
///
/// NIO makes a whole close of it when the client has closed its side already, and drops what is not written yet. So both wait until the
/// reply is written, and so does the client's time to close: one that reads slowly gets all of a long reply.
final class LingeringClose: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Longest wait for the client's close, from when its reply is written.
    static let timeout = TimeAmount.seconds(5)
    /// Most bytes thrown away: a client that reads nothing before it has sent everything still gets its reply.
    static let mostBytes = 64 << 20

    private var bytes = 0
    private var deadline: Scheduled<Void>?
    private var isWritten = false
    private var hasClientClosed = false

    func handlerAdded(context: ChannelHandlerContext) {
        // Done when all that was written before it is.
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            isWritten = true
            let channel = context.channel
            deadline = context.eventLoop.scheduleTask(in: Self.timeout) { channel.close(promise: nil) }
            context.close(mode: hasClientClosed ? .all : .output, promise: nil)
        }
        context.read()
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes += unwrapInboundIn(data).readableBytes
        if bytes > Self.mostBytes { context.close(promise: nil) }
    }

    /// Reading goes on whatever the handlers behind want.
    func channelReadComplete(context: ChannelHandlerContext) { context.read() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent {
            hasClientClosed = true
            if isWritten { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }
}
