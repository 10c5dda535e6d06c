public import NIOCore
internal import NIOHTTP1
public import NIOPosix

/// A small HTTP/1.1 server for what is not the public API: metrics, control, stand-ins in tests. One address, no TLS.
///
/// Connections are kept, as the client likes; pipelined requests are answered in their order. `100 Continue` is sent when a body is read.
/// A client that hangs up cancels the task of its request. A body that no one reads is thrown away.
public final class HTTPServer: Sendable {
    /// Where it listens.
    public let address: SocketAddress?
    private let socket: any Channel
    private let connections: HTTPConnections

    private init(_ socket: any Channel, _ connections: HTTPConnections) {
        (address, self.socket, self.connections) = (socket.localAddress, socket, connections)
    }

    /// The port it listens on.
    public var port: Int { address?.port ?? 0 }

    /// Listens from now on, until it is stopped or the process ends.
    ///
    /// - Parameters:
    ///   - host: a name or an address of this machine.
    ///   - port: 0 for one that is free.
    ///   - group: its threads.
    ///   - heads: what heads of requests may take.
    ///   - respond: makes the reply to a request. When it throws, that is 413 for `HTTPBody.TooLarge`, 400 for a request that is no correct
    ///     HTTP, otherwise 500.
    /// - Throws: the operating system's error when the address cannot be listened on.
    public static func start(
        host: String,
        port: Int,
        on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        heads: HTTPHeads = HTTPHeads(),
        _ respond: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) async throws -> HTTPServer {
        let connections = HTTPConnections()
        let answer = HTTPAnswer { request in
            do { return try await respond(request) } catch is HTTPBody.TooLarge {
                return HTTPResponse(.payloadTooLarge)
            } catch is HTTPParserError {
                return HTTPResponse(.badRequest)
            } catch { return HTTPResponse(.internalServerError) }
        }
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptBackoffHandler(shouldForwardIOErrorCaught: false))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTP(heads)
                    let requests = HTTPRequests(on: channel.eventLoop, of: connections, rules: .here) { _ in answer }
                    try channel.pipeline.syncOperations.addHandler(requests)
                    connections.add(channel)
                }
            }
        return HTTPServer(try await bootstrap.bind(host: host, port: port).get(), connections)
    }

    /// Waits until the task is cancelled, then stops it.
    public func run() async {
        await withTaskCancellationHandler {
            try? await socket.closeFuture.get()
        } onCancel: {
            socket.close(promise: nil)
        }
        await stop()
    }

    /// Accepts no more, finishes what runs, and returns when all connections are closed.
    public func stop() async {
        try? await socket.close()
        connections.tell(ChannelShouldQuiesceEvent())
        await connections.finish()
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Adds a parser of requests and what writes replies. `HTTPRequests` says how a body is framed. Where heads exceed their limits, an
    /// `HTTPHeadError` passes through the pipeline, and nothing more.
    ///
    /// - Parameter heads: what heads may take.
    /// - Throws: when the connection takes no more handlers.
    public func addHTTP(_ heads: HTTPHeads) throws {
        var limits = NIOHTTPDecoderLimitConfiguration()
        (limits.maxHeaderFieldSize, limits.maxHeaderListSize, limits.maxHeaderFieldCount) = (heads.most, heads.most, 1_000)
        var encoder = HTTPResponseEncoder.Configuration()
        encoder.automaticallySetFramingHeaders = false
        let collector = HTTPHeadCollector(heads)
        try addHandler(collector)
        try configureHTTPServerPipeline(
            withPipeliningAssistance: false,
            withErrorHandling: false,
            // `HTTPRequests` secures headers.
            withOutboundHeaderValidation: false,
            withEncoderConfiguration: encoder,
            withDecoderLimitConfiguration: limits
        )
        try addHandler(HTTPHeadWatcher(collector))
    }

    /// Removes the parser: requests are not read any more, and replies can still be written.
    ///
    /// - Throws: when `addHTTP` has not added one.
    public func removeHTTPParser() throws {
        for old in [
            try context(handlerType: HTTPHeadCollector.self),
            try context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self),
            try context(handlerType: HTTPHeadWatcher.self),
        ] { removeHandler(context: old, promise: nil) }
    }
}
