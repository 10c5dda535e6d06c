internal import HTTPServer
internal import NIOCore
internal import NIOHTTP1

/// Writes one stream on the event loop of its connection, whose last reply it is.
///
/// It takes the place of the handlers of requests, of which no more are served: streams are many and quiet for hours, and what those handlers
/// keep would be the larger part of one. Nothing is read any more, but the client's close is noticed.
final class StreamWriter: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = Any
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPServerResponsePart

    /// The head of a reply has been written, and this stream is its body; triggered towards `ConnectionHandler`.
    struct Begin: Sendable {
        let stream: EventStream
    }

    private let stream: EventStream
    /// The connection takes no more. What comes meanwhile is kept, bounded, by the stream.
    private var isStalled = false

    private init(_ stream: EventStream) { self.stream = stream }

    /// Replaces the handlers of requests.
    ///
    /// - Parameter context: of `ConnectionHandler`, the first of them behind the parser.
    static func replaceRequests(by stream: EventStream, _ context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            // The parser leaves later, and what it may still say ends here.
            try pipeline.addHandler(StreamWriter(stream), position: .before(context.handler))
            try pipeline.removeHTTPParser()
            for old in [
                context,
                try pipeline.context(handlerType: BodyDeadline.self),
                try pipeline.context(handlerType: IdleTimeout.self),
                try pipeline.context(handlerType: HTTPRequests.self),
            ] { pipeline.removeHandler(context: old, promise: nil) }
        } catch { context.close(promise: nil) }
    }

    func handlerAdded(context: ChannelHandlerContext) { sendNext(context) }

    /// Sends what there is next, as soon as there is something.
    private func sendNext(_ context: ChannelHandlerContext) {
        let loop = context.eventLoop
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: loop)
        stream.next { text in
            loop.execute {
                let (handler, context) = bound.value
                handler.send(text, context)
            }
        }
    }

    private func send(_ text: ByteBuffer?, _ context: ChannelHandlerContext) {
        guard let text else { return end(context) }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(text))), promise: nil)
        if context.channel.isWritable { sendNext(context) } else { isStalled = true }
    }

    private func end(_ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        do { try context.pipeline.syncOperations.addHandler(LingeringClose(), position: .first) } catch {
            context.close(promise: nil)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard isStalled, context.channel.isWritable else { return }
        isStalled = false
        sendNext(context)
    }

    // MARK: what arrives

    func read(context: ChannelHandlerContext) {}

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    /// NIO closes a connection that has failed.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}

    /// `ClientEnd` has seen the client's close, and `StreamHub` ends streams when the gateway stops.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {}
}
