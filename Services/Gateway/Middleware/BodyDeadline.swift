internal import NIOCore
internal import NIOHTTPTypes

/// Closes a connection on which a request's body does not end in time, whatever has been answered meanwhile: after a refusal the rest of
/// the body is read and thrown away, and a byte now and then would keep that up for ever (PF-5).
final class BodyDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    private let limit: TimeAmount
    private var isArriving = false
    private var closing: Scheduled<Void>?

    /// A deadline of so long after the request's head.
    init(_ limit: Duration) { self.limit = TimeAmount(limit) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: isArriving = true
        case .body: break
        case .end: stop()
        }
        context.fireChannelRead(data)
    }

    /// Most requests are there in one piece and need no timer.
    func channelReadComplete(context: ChannelHandlerContext) {
        if isArriving, closing == nil {
            let channel = context.channel
            closing = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
        }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    private func stop() {
        isArriving = false
        closing?.cancel()
        closing = nil
    }
}
