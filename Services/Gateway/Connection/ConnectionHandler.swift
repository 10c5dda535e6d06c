internal import Kernel
internal import NIOCore
internal import NIOHTTP1

/// Holds one connection to the rules of HTTP/1 (RFC 9112), between the parser and everything else: refuses what is no correct request,
/// says when the connection ends, and ends it so that the client gets its reply. `ConnectionState` decides.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let refusals: Refusals
    private var state = ConnectionState()
    /// Of the request that arrives, for the reply to one that is refused.
    private var headers = HTTPHeaders()
    private var isLingering = false

    init(_ refusals: Refusals) { self.refusals = refusals }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            let facts = Result { () throws(ServiceError) in try RequestHeadRules.facts(head) }
            if case .failure = facts { headers = head.headers }
            act(state.received(facts, isHead: head.method == .HEAD), context, data)
        case .body(let bytes): act(state.received(bytes: bytes.readableBytes), context, data)
        case .end: act(state.receivedEnd(), context, data)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let refusal = RequestHeadRules.refusal(of: error) else {
            // Bytes after those that the parser gave up at.
            if !(error is ByteToMessageDecoderError) { context.fireErrorCaught(error) }
            return
        }
        switch state.failed(refusal) {
        case .forward: context.fireErrorCaught(error)
        case .discard: break
        case .refuse(let refusal, let isHead): refuse(refusal, isHead: isHead, context)
        case .close: close(context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event as? Drain {
        case .begins: state.drain()
        case .ends: if state.end() { context.close(promise: nil) }
        case nil: context.fireUserInboundEventTriggered(event)
        }
    }

    private func act(_ action: ConnectionState.Inbound, _ context: ChannelHandlerContext, _ data: NIOAny) {
        switch action {
        case .forward: context.fireChannelRead(data)
        case .discard: break
        case .refuse(let error, let isHead): refuse(error, isHead: isHead, context)
        case .close: close(context)
        }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let begin = event as? StreamWriter.Begin else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        if state.sendsBytes() { StreamWriter.replaceRequests(by: begin.stream, context) }
        promise?.succeed()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            guard head.status != .continue else {
                return state.wantsBody() ? context.write(data, promise: promise) : discard(promise)
            }
            write(head, context, promise)
        case .body:
            guard state.sendsBytes() else { return discard(promise) }
            context.write(data, promise: promise)
        case .end:
            switch state.sendsEnd() {
            case .discard: discard(promise)
            case .goOn: context.write(data, promise: promise)
            case .refuse(let error, let isHead):
                context.write(data, promise: promise)
                refuse(error, isHead: isHead, context)
            case .close:
                context.writeAndFlush(data, promise: promise)
                close(context)
            }
        }
    }

    private func write(_ head: HTTPResponseHead, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        let hasLength = head.headers.contains(name: "Content-Length") || !head.status.mayHaveResponseBody
        let isLast = head.headers.first(name: "Connection")?.lowercased() == "close"
        switch state.sendsHead(hasLength: hasLength, isLast: isLast) {
        case .discard: discard(promise)
        case .send(let closes, let saysKeepAlive, let isDelimitedByClose):
            var head = head
            if closes { head.headers.replaceOrAdd(name: "Connection", value: "close") }
            if saysKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "keep-alive") }
            if isDelimitedByClose { head.version = .http1_0 }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        }
    }

    /// The reply is no longer wanted. Its writer sees success: a failure would reset the connection.
    private func discard(_ promise: EventLoopPromise<Void>?) { promise?.succeed() }

    private func refuse(_ error: ServiceError, isHead: Bool, _ context: ChannelHandlerContext) {
        let (head, body) = refusals.reply(to: error, headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !isHead { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        close(context)
    }

    /// Half a close means that nothing more will be written; how the connection then ends is decided here.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output else { return context.close(mode: mode, promise: promise) }
        close(context)
        promise?.succeed()
    }

    private func close(_ context: ChannelHandlerContext) {
        guard !isLingering else { return }
        isLingering = true
        // From here on only the handler at the front sees what arrives. It stays until the connection is closed.
        do { try context.pipeline.syncOperations.addHandler(LingeringClose(), position: .first) } catch {
            context.close(promise: nil)
        }
    }
}
