import NIOCore

/// Keeps writes, as a socket whose client does not read.
final class Stuck: ChannelOutboundHandler {
    typealias OutboundIn = Any
    private var promises: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if let promise { promises.append(promise) }
    }

    /// The client has read everything.
    func release() {
        for promise in promises { promise.succeed() }
        promises = []
    }
}
