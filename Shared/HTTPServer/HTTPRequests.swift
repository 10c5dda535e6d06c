public import NIOCore
public import NIOHTTP1

/// How a request is answered: decided when its head is there.
public struct HTTPAnswer: Sendable {
    let isQuick: Bool
    let respond: @Sendable (HTTPRequest) async -> HTTPResponse

    /// An answer.
    ///
    /// - Parameters:
    ///   - isQuick: whether a request that arrives in one piece is answered on the connection's event loop. The body is then there as a
    ///     whole, and a client that hangs up is not waited for. What takes long would hold up all connections of the loop.
    ///   - respond: makes the reply.
    public init(isQuick: Bool = false, _ respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse) {
        (self.isQuick, self.respond) = (isQuick, respond)
    }
}

/// Answers the requests of one connection, one after the other: each by a task, which has the body as it arrives and writes the reply as the
/// client reads it.
///
/// The last handler of its pipeline, which all others see the same traffic before. While it answers, what arrives behind the request waits, so
/// replies keep the order of the requests. It waits too while the client does not read the replies that it has: they are kept in memory, and a
/// client that only asks must not fill that.
public final class HTTPRequests: ChannelDuplexHandler, RemovableChannelHandler {
    /// Parts of requests.
    public typealias InboundIn = HTTPServerRequestPart
    /// Nothing: it is the last handler.
    public typealias OutboundIn = Never
    /// Parts of replies.
    public typealias OutboundOut = HTTPServerResponsePart

    /// Who decides when a connection ends.
    public enum Rules: Sendable {
        /// Another handler, which sees the replies after this one. It sends `Connection`, closes, and judges what is no correct HTTP.
        case elsewhere
        /// This one, and it cancels the task of a request whose client has hung up.
        case here
    }

    private enum Phase {
        /// Between requests.
        case idle
        /// A request that may be answered on the event loop is arriving.
        case arriving(HTTPRequest, HTTPAnswer, ByteBuffer)
        case answering(Facts)
        /// The last reply has been written.
        case ended
    }

    /// What the reply depends on.
    private struct Facts {
        var isHead = false
        /// Of a client of HTTP/1.0.
        var isOld = false
        var keepsAlive = false
    }

    /// What has arrived while a request was being answered.
    private enum Waiting {
        case part(HTTPServerRequestPart)
        case inputClosed
        case error(any Error)
    }

    private let service: @Sendable (HTTPRequest) -> HTTPAnswer
    private let connections: HTTPConnections
    private let rules: Rules
    private let executor: EventLoopExecutor
    private var phase = Phase.idle
    /// Of the request that is answered, until all of it has arrived.
    private var body: BodyStream?
    private var hasBegun = false
    private var hasReplied = false
    /// Bytes of the reply that are still to be written; nil when their number is unknown.
    private var missing: Int?
    /// Of the request that is answered.
    private var task: Task<Void, Never>?
    /// Waits until the connection takes more.
    private var writer: CheckedContinuation<Void, any Error>?
    private var waiting: [Waiting] = []
    /// How many of these have been taken.
    private var taken = 0
    /// The client has not read what it was answered.
    private var isStalled = false
    private var isReadHeld = false
    /// Where `rules` are here: the next reply is the last one.
    private var isLast = false

    /// A handler for one connection.
    ///
    /// - Parameters:
    ///   - loop: of the connection.
    ///   - connections: where it is counted what runs, beside what is answered on the event loop.
    ///   - rules: who decides when the connection ends.
    ///   - service: decides how a request is answered, whose body is not there yet. Called on the event loop.
    public init(
        on loop: any EventLoop,
        of connections: HTTPConnections,
        rules: Rules,
        _ service: @escaping @Sendable (HTTPRequest) -> HTTPAnswer
    ) {
        (self.connections, self.rules, self.service) = (connections, rules, service)
        executor = EventLoopExecutor(loop)
    }

    // MARK: what arrives

    /// Whether what arrives waits.
    private var isHeld: Bool {
        if case .answering = phase { body == nil } else { isStalled }
    }

    /// Takes a part of a request.
    public func channelRead(context: ChannelHandlerContext, data: NIOAny) { receive(unwrapInboundIn(data), context) }

    private func receive(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        guard !isHeld else { return waiting.append(.part(part)) }
        switch (phase, part) {
        case (.idle, .head(let head)):
            let request = HTTPRequest(head, context.channel)
            let answer = service(request)
            if answer.isQuick { phase = .arriving(request, answer, ByteBuffer()) } else { begin(request, answer, context) }
        case (.arriving(let request, let answer, var body), .body(var bytes)):
            if body.readableBytes == 0 { body = bytes } else { body.writeBuffer(&bytes) }
            phase = .arriving(request, answer, body)
        case (.arriving(var request, let answer, let body), .end):
            request.body = HTTPBody(body)
            run(request, answer, isHere: true, context)
        case (.answering, .body(let bytes)): body?.put(bytes)
        case (.answering, .end): endBody(.success(nil), context)
        default: break
        }
    }

    /// Begins the answer to a request whose body has not arrived as a whole.
    public func channelReadComplete(context: ChannelHandlerContext) {
        // The rest of a slow body is awaited by the one who limits the time for that.
        passArriving(context)
        context.fireChannelReadComplete()
    }

    /// Learns that the client sends no more, or that the server stops.
    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        passArriving(context)
        switch event {
        case ChannelEvent.inputClosed:
            endBody(.failure(ChannelError.eof), context)
            if isHeld { return waiting.append(.inputClosed) }
            // The client has said all, and has its replies.
            context.close(mode: .output, promise: nil)
        case is ChannelShouldQuiesceEvent:
            isLast = true
            if case .idle = phase { end(context) }
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Ends the body that arrives, or the connection.
    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        passArriving(context)
        if body != nil {
            isLast = true
            return endBody(.failure(error), context)
        }
        if isHeld { return waiting.append(.error(error)) }
        switch rules {
        case .elsewhere: context.close(mode: .output, promise: nil)
        case .here:
            guard case .idle = phase, let status = HTTPResponseStatus(refusing: error) else { break }
            phase = .answering(Facts())
            send(HTTPResponse(status), context)
        }
        context.fireErrorCaught(error)
    }

    /// The client has gone: its body, its reply and the requests behind it end.
    public func channelInactive(context: ChannelHandlerContext) {
        body?.end(.failure(ChannelError.ioOnClosedChannel))
        (phase, body, waiting, taken) = (.ended, nil, [], 0)
        if rules == .here { task?.cancel() }
        task = nil
        writer?.resume(throwing: ChannelError.ioOnClosedChannel)
        writer = nil
        context.fireChannelInactive()
    }

    /// Reads more unless the handler has enough to do: of a client that sends ahead, one request is read.
    public func read(context: ChannelHandlerContext) {
        // One request ahead is enough; a client that sends more waits.
        let isEnough = isHeld ? isStalled || !waiting.isEmpty : body?.isFull() ?? false
        if isEnough { isReadHeld = true } else { context.read() }
    }

    func resumeReading(_ context: ChannelHandlerContext) {
        guard isReadHeld else { return }
        isReadHeld = false
        read(context: context)
    }

    /// A body is about to be read whose client waits for that.
    func wants(_ stream: BodyStream, _ context: ChannelHandlerContext) {
        guard body === stream, !hasBegun else { return }
        context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
    }

    private func passArriving(_ context: ChannelHandlerContext) {
        guard case .arriving(let request, let answer, let bytes) = phase else { return }
        begin(request, answer, context)
        if bytes.readableBytes > 0 { body?.put(bytes) }
    }

    /// No more of the body will come.
    private func endBody(_ end: Result<ByteBuffer?, any Error>, _ context: ChannelHandlerContext) {
        body?.end(end)
        body = nil
        if hasReplied { endTurn(context) }
    }

    // MARK: what goes out

    /// Answers a request whose body is to come.
    private func begin(_ request: HTTPRequest, _ answer: HTTPAnswer, _ context: ChannelHandlerContext) {
        let awaitsContinue = !request.isOld && request.headers[field: "Expect"]?.lowercased() == "100-continue"
        let stream = BodyStream(Place(self, context), awaitsContinue: awaitsContinue)
        body = stream
        var request = request
        request.body = HTTPBody(stream)
        run(request, answer, isHere: false, context)
    }

    private func run(_ request: HTTPRequest, _ answer: HTTPAnswer, isHere: Bool, _ context: ChannelHandlerContext) {
        phase = .answering(
            Facts(isHead: request.method == .HEAD, isOld: request.isOld, keepsAlive: request.keepsAlive)
        )
        let (place, connections) = (Place(self, context), connections)
        if !isHere { connections.began() }
        let task = Task(executorPreference: isHere ? executor : nil) {
            let response = await answer.respond(request)
            if isHere { place.here { $0.send(response, $1) } } else { place.run { $0.send(response, $1) } }
            if case .writer(_, let write) = response.body, request.method != .HEAD, response.status.mayHaveResponseBody {
                do {
                    try await write(HTTPBodyWriter(place: place))
                    place.run { $0.endReply($1) }
                } catch { place.run { $1.close(promise: nil) } }
            }
            if !isHere { connections.ended() }
        }
        if rules == .here { self.task = task }
    }

    private func send(_ response: HTTPResponse, _ context: ChannelHandlerContext) {
        guard case .answering(let facts) = phase else { return }
        hasBegun = true
        if !facts.keepsAlive || facts.isOld { isLast = true }
        let hasBody = response.status.mayHaveResponseBody && !facts.isHead
        var head = HTTPResponseHead(version: .http1_1, status: response.status, headers: response.headers)
        head.headers.secure()
        head.headers.add(name: "Date", value: HTTPDate.now())
        if !response.status.mayHaveResponseBody {
            head.headers.remove(name: "Content-Length")
        } else if hasBody, !facts.isOld, !head.headers.contains(name: "Content-Length") {
            head.headers.add(name: "Transfer-Encoding", value: "chunked")
        }
        if rules == .here, isLast { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        switch response.body {
        case .bytes(let bytes):
            if hasBody, bytes.readableBytes > 0 { context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil) }
            endReply(context)
        case .writer where !hasBody: endReply(context)
        case .writer(let length, _):
            missing = length
            context.flush()
        case .handOver(let take):
            context.flush()
            // Nothing that waits here is served.
            take(context.channel)
        }
    }

    func write(_ bytes: ByteBuffer, _ continuation: CheckedContinuation<Void, any Error>, _ context: ChannelHandlerContext) {
        guard case .answering = phase else { return continuation.resume(throwing: ChannelError.ioOnClosedChannel) }
        missing = missing.map { $0 - bytes.readableBytes }
        // The connection may end while it is written to.
        writer = continuation
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
        resumeWriter(context)
    }

    private func resumeWriter(_ context: ChannelHandlerContext) {
        guard let writer, context.channel.isWritable else { return }
        self.writer = nil
        writer.resume()
    }

    /// The reply goes on, and what waited for a client that did not read.
    public func channelWritabilityChanged(context: ChannelHandlerContext) {
        context.fireChannelWritabilityChanged()
        resumeWriter(context)
        guard isStalled, context.channel.isWritable else { return }
        isStalled = false
        takeWaiting(context)
    }

    private func endReply(_ context: ChannelHandlerContext) {
        guard case .answering = phase else { return }
        // The client would take what comes next for the rest, or the rest for what comes next.
        guard missing ?? 0 == 0 else { return context.close(promise: nil) }
        missing = nil
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        task = nil
        guard let body else { return endTurn(context) }
        hasReplied = true
        body.abandon()
        resumeReading(context)
    }

    /// The request has its reply, and all of it has arrived.
    private func endTurn(_ context: ChannelHandlerContext) {
        guard case .answering = phase else { return }
        (phase, hasBegun, hasReplied) = (.idle, false, false)
        if rules == .here, isLast { return end(context) }
        isStalled = !context.channel.isWritable
        takeWaiting(context)
    }

    /// Closes the connection when all is written.
    private func end(_ context: ChannelHandlerContext) {
        phase = .ended
        let channel = context.channel
        let written = context.eventLoop.makePromise(of: Void.self)
        // Nothing, which is written after everything else.
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))), promise: written)
        written.futureResult.whenComplete { _ in channel.close(promise: nil) }
    }

    // MARK: what waits

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
                case .part(let part): receive(part, context)
                case .inputClosed: userInboundEventTriggered(context: context, event: ChannelEvent.inputClosed)
                case .error(let error): errorCaught(context: context, error: error)
                }
            }
            channelReadComplete(context: context)
        }
        resumeReading(context)
    }

    /// The handler, for tasks: what they want done is done on its event loop.
    struct Place: Sendable {
        private let bound: NIOLoopBound<(handler: HTTPRequests, context: ChannelHandlerContext)>
        private let loop: any EventLoop

        init(_ handler: HTTPRequests, _ context: ChannelHandlerContext) {
            loop = context.eventLoop
            bound = NIOLoopBound((handler, context), eventLoop: loop)
        }

        /// At once when on the loop, otherwise after what was wanted before.
        func run(_ body: @escaping @Sendable (HTTPRequests, ChannelHandlerContext) -> Void) {
            if loop.inEventLoop { here(body) } else { loop.execute { here(body) } }
        }

        /// For a task that runs on the loop.
        func here(_ body: (HTTPRequests, ChannelHandlerContext) -> Void) { body(bound.value.handler, bound.value.context) }
    }
}

/// Runs tasks on an event loop.
private final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
