internal import HTTPServer
internal import NIOCore
internal import NIOHTTP1

/// Closes a connection on which nothing moves (PF-5): nothing of a request arrives, none is being answered, and all replies are
/// written.
///
/// A reply is written when the kernel has the last of it, so a client that reads slowly gets all of it. One that reads nothing
/// at all is left to the kernel (`GatewayChannel`).
final class IdleTimeout: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let limit: TimeAmount
    private let idleness: Idleness
    /// When something moved last.
    private var moved = NIODeadline.uptimeNanoseconds(0)
    private var isArriving = false
    /// Requests whose reply is not written.
    private var unanswered = 0
    private var check: Scheduled<Void>?

    init(_ limit: TimeAmount, _ idleness: Idleness = Idleness()) { (self.limit, self.idleness) = (limit, idleness) }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        moved = context.eventLoop.now
        switch unwrapInboundIn(data) {
        case .head:
            isArriving = true
            unanswered += 1
            idleness.ends()
        case .body: break
        case .end: isArriving = false
        }
        context.fireChannelRead(data)
    }

    /// From here on a head has a deadline of its own (`HTTPHeads`).
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is HTTPHeadBegan {
            moved = context.eventLoop.now
            if unanswered == 0 { idleness.begins(moved) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        let written = promise ?? context.eventLoop.makePromise()
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            unanswered -= 1
            begin(context)
        }
        context.write(data, promise: written)
    }

    private func begin(_ context: ChannelHandlerContext) {
        moved = context.eventLoop.now
        if unanswered == 0 && !isArriving { idleness.begins(moved) }
        // A connection has one timer, which finds out by itself when it is due.
        if check == nil, context.channel.isActive { schedule(context) }
    }

    private func schedule(_ context: ChannelHandlerContext) {
        check = context.eventLoop.assumeIsolated().scheduleTask(deadline: moved + limit) { [self] in
            check = nil
            // What is being answered or written ends by other limits, and then begins anew.
            guard isArriving || unanswered == 0 else { return }
            if context.eventLoop.now - moved >= limit { context.close(promise: nil) } else { schedule(context) }
        }
    }

    private func stop() {
        check?.cancel()
        check = nil
    }
}
