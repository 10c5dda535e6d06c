internal import NIOCore
internal import NIOHTTP1

/// Closes a connection on which a request's body does not end in time, whatever has been answered meanwhile: after a refusal the rest of
/// the body is read and thrown away, and a byte now and then would keep that up for ever (PF-5).
final class BodyDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// The least rate at which a large body must arrive, in bytes a millisecond: a video of 100 MB has 14 minutes.
    private static let leastRate: Int64 = 125
    private static let longest = Duration.seconds(900)

    private let limit: Duration
    private var bytes: Int64 = 0
    private var isArriving = false
    private var closing: Scheduled<Void>?

    /// A deadline of so long after the request's head.
    init(_ limit: Duration) { self.limit = limit }

    /// How long a body may take.
    ///
    /// - Parameters:
    ///   - least: what a small one may take.
    ///   - bytes: how large it is, as its head says.
    static func limit(_ least: Duration, bytes: Int64) -> Duration {
        max(least, min(longest, .milliseconds(bytes / leastRate)))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            isArriving = true
            bytes = head.headers.first(name: "Content-Length").flatMap { Int64($0) } ?? 0
        case .body: break
        case .end: stop()
        }
        context.fireChannelRead(data)
    }

    /// Most requests are there in one piece and need no timer.
    func channelReadComplete(context: ChannelHandlerContext) {
        if isArriving, closing == nil {
            let channel = context.channel
            closing = context.eventLoop.scheduleTask(in: TimeAmount(max(limit, Self.limit(.zero, bytes: bytes) + .seconds(5)))) {
                channel.close(promise: nil)
            }
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
