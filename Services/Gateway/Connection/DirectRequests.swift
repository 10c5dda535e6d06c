internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import NIOHTTPTypes

/// Answers ordinary requests on the connection's own event loop: those that arrive in one piece and get JSON or a stream of events. Everything
/// else goes on to Hummingbird, which moves each part of a request through two queues to another thread and back.
///
/// The last handler before Hummingbird's, which it adds with the first request that needs it, so that all others see the same traffic. While
/// it answers, what arrives waits, so replies keep the order of the requests. It waits too while the client does not read the
/// replies that it has: they are kept in memory, and a client that only asks must not fill that.
final class DirectRequests: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private enum Phase {
        /// Between requests.
        case idle
        /// A request that may be answered here is arriving.
        case arriving(HTTPRequest, ByteBuffer?)
        case answering
        /// Hummingbird has these.
        case passing
    }

    /// What has arrived while a request was being answered.
    private enum Waiting {
        case part(HTTPRequestPart)
        case event(ChannelEvent)
        case error(any Error)
    }

    private let service: HTTPService
    private let hummingbird: HummingbirdRequests
    private let executor: EventLoopExecutor
    private var phase = Phase.idle
    private var waiting: [Waiting] = []
    /// How many of these have been taken.
    private var taken = 0
    /// The client has not read what it was answered.
    private var isStalled = false
    /// Hummingbird's requests whose end has not arrived, and whose reply has not ended.
    private var passing = (arriving: 0, unanswered: 0)
    private var isReadHeld = false
    private var hasHummingbird = false

    init(_ service: HTTPService, _ hummingbird: HummingbirdRequests, on loop: any EventLoop) {
        (self.service, self.hummingbird) = (service, hummingbird)
        executor = EventLoopExecutor(loop)
    }

    // MARK: what arrives

    /// Whether what arrives waits.
    private var isHeld: Bool {
        if case .answering = phase { true } else { isStalled }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard !isHeld else { return waiting.append(.part(part)) }
        switch (phase, part) {
        case (.idle, .head(let head)) where service.answersDirectly(head): phase = .arriving(head, nil)
        case (.arriving(let head, let body), .body(let bytes)):
            var all = body ?? ByteBuffer()
            all.writeImmutableBuffer(bytes)
            phase = .arriving(head, all)
        case (.arriving(let head, let body), .end): answer(head, body ?? ByteBuffer(), context)
        default: pass(part, context)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // The rest of a slow body is awaited by the one who limits the time for that.
        passArriving(context)
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        passArriving(context)
        if isHeld, let event = event as? ChannelEvent { return waiting.append(.event(event)) }
        // The client has said all, and has its replies. Hummingbird, where it is, does the same.
        if !hasHummingbird, case .inputClosed? = event as? ChannelEvent { context.close(mode: .output, promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        passArriving(context)
        if isHeld { return waiting.append(.error(error)) }
        if !hasHummingbird { context.close(mode: .output, promise: nil) }
        context.fireErrorCaught(error)
    }

    func read(context: ChannelHandlerContext) {
        // One request ahead is enough; a client that sends more waits.
        if isHeld, isStalled || !waiting.isEmpty { return isReadHeld = true }
        context.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        context.fireChannelWritabilityChanged()
        guard isStalled, context.channel.isWritable else { return }
        isStalled = false
        takeWaiting(context)
    }

    private func passArriving(_ context: ChannelHandlerContext) {
        guard case .arriving(let head, let body) = phase else { return }
        pass(.head(head), context)
        if let body { pass(.body(body), context) }
    }

    private func pass(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head:
            phase = .passing
            passing.arriving += 1
            passing.unanswered += 1
            addHummingbird(context)
        case .body: break
        case .end: passing.arriving -= 1
        }
        context.fireChannelRead(wrapInboundOut(part))
        endPassing()
    }

    private func addHummingbird(_ context: ChannelHandlerContext) {
        let channel = context.channel
        // On a connection that has ended, what had arrived is not served any more.
        guard !hasHummingbird, channel.isActive else { return }
        do { try hummingbird.join(channel) } catch { return context.close(promise: nil) }
        hasHummingbird = true
        // It takes a connection to be writable until this event.
        if !channel.isWritable { context.fireChannelWritabilityChanged() }
    }

    private func endPassing() {
        if case .passing = phase, passing == (0, 0) { phase = .idle }
    }

    // MARK: what goes out

    /// Of Hummingbird's replies.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = unwrapOutboundIn(data)
        context.write(data, promise: promise)
        guard case .end = part else { return }
        passing.unanswered -= 1
        endPassing()
    }

    private func answer(_ head: HTTPRequest, _ body: ByteBuffer, _ context: ChannelHandlerContext) {
        phase = .answering
        let request = Request(head: head, body: RequestBody(buffer: body))
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let (service, channel) = (service, context.channel)
        // A client that hangs up does not end it: the service has the request.
        Task(executorPreference: executor) {
            let reply = await service.reply(to: request, channel)
            // On the event loop, which is where a task of this executor runs.
            let (handler, context) = bound.value
            handler.send(reply, context)
        }
    }

    private func send(_ reply: HTTPService.Reply, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(reply.head)), promise: nil)
        if let stream = reply.stream {
            context.flush()
            // Nothing that waits here is served: it is the connection's last reply.
            return context.triggerUserOutboundEvent(StreamWriter.Begin(stream: stream), promise: nil)
        }
        if reply.body.readableBytes > 0 { context.write(wrapOutboundOut(.body(reply.body)), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        phase = .idle
        isStalled = !context.channel.isWritable
        takeWaiting(context)
    }

    private func nextWaiting() -> Waiting? {
        guard taken < waiting.count else { return nil }
        defer {
            taken += 1
            // No more is read until the last one is taken, so nothing is kept for long.
            if taken == waiting.count { (waiting, taken) = ([], 0) }
        }
        return waiting[taken]
    }

    private func takeWaiting(_ context: ChannelHandlerContext) {
        guard !isHeld else { return }
        if !waiting.isEmpty {
            while !isHeld, let item = nextWaiting() {
                switch item {
                case .part(let part): channelRead(context: context, data: wrapInboundOut(part))
                case .event(let event): userInboundEventTriggered(context: context, event: event)
                case .error(let error): errorCaught(context: context, error: error)
                }
            }
            channelReadComplete(context: context)
        }
        if isReadHeld {
            isReadHeld = false
            read(context: context)
        }
    }
}

/// Runs tasks on an event loop.
final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
