internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// An OTLP/HTTP collector. Plain HTTP only: one stands beside the process, or in its network, and forwards with TLS.
struct Collector: Sendable {
    let host: String
    let port: Int
    let path: String

    /// How long a connection, and then the answer, may take.
    static let connectTimeout = TimeAmount.seconds(3)
    static let replyTimeout = TimeAmount.seconds(5)

    /// - Parameter endpoint: `http://127.0.0.1:4318`; nil when it is no such address. `/v1/traces` is added to its path.
    init?(endpoint: String) {
        guard endpoint.hasPrefix("http://") else { return nil }
        let rest = endpoint.dropFirst("http://".count)
        let authority = rest.prefix { $0 != "/" }
        var path = rest.dropFirst(authority.count)
        while path.hasSuffix("/") { path.removeLast() }
        guard path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !path.contains("?"), !path.contains("#") else { return nil }
        var host = authority
        var port = 4318
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            guard let number = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(number) else { return nil }
            (host, port) = (authority[..<colon], number)
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") }) else { return nil }
        (self.host, self.port, self.path) = (String(host), port, path + "/v1/traces")
    }

    /// Sends one request over a connection of its own.
    ///
    /// - Returns: the status of the answer.
    /// - Throws: when there is none in time.
    func post(_ body: [UInt8]) async throws -> Int {
        let group = MultiThreadedEventLoopGroup.singleton
        let answer = group.next().makePromise(of: Int.self)
        let request = ByteBuffer(bytes: body)
        let head = HTTPRequestHead(
            version: .http1_1,
            method: .POST,
            uri: path,
            headers: [
                "Host": host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)", "Content-Type": "application/json",
                "Content-Length": "\(body.count)", "Connection": "close", "User-Agent": "streaksnap/\(BuildInfo.version)",
            ]
        )
        do {
            let channel = try await ClientBootstrap(group: group).connectTimeout(Self.connectTimeout)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        try channel.pipeline.syncOperations.addHandler(Exchange(head, request, answer))
                    }
                }
                .connect(host: host, port: port).get()
            let timeout = channel.eventLoop.scheduleTask(in: Self.replyTimeout) { channel.close(promise: nil) }
            defer { timeout.cancel() }
            return try await answer.futureResult.get()
        } catch {
            answer.fail(error)
            throw error
        }
    }

    /// Sends when connected, and waits for the head of the answer.
    private final class Exchange: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart
        typealias OutboundOut = HTTPClientRequestPart

        private let head: HTTPRequestHead
        private let body: ByteBuffer
        private let answer: EventLoopPromise<Int>

        init(_ head: HTTPRequestHead, _ body: ByteBuffer, _ answer: EventLoopPromise<Int>) {
            (self.head, self.body, self.answer) = (head, body, answer)
        }

        func channelActive(context: ChannelHandlerContext) {
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): answer.succeed(Int(head.status.code))
            case .body: break
            case .end: context.close(promise: nil)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            answer.fail(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            answer.fail(ChannelError.eof)
        }
    }
}
