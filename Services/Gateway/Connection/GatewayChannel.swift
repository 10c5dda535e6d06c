internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypesHTTP1

/// What every connection has: the parser, the gateway's own rules behind it, the limits of time, and the short way for ordinary requests.
///
/// Most connections are idle most of the time, so each has only handlers. What Hummingbird needs is made when a request needs Hummingbird.
struct GatewayChannel: Sendable {
    /// Memory for one read, in bytes. The least is what an idle connection keeps, and holds an ordinary request; an upload soon gets the most.
    static let receiveBuffers = AdaptiveRecvByteBufferAllocator(minimum: 1 << 10, initial: 1 << 10, maximum: 64 << 10)
    /// TCP_USER_TIMEOUT of tcp(7).
    private static let userTimeout = NIOBSDSocket.Option(rawValue: 18)
    /// Has no state.
    private static let codec = HTTP1ToHTTPServerCodec(secure: false)

    let service: HTTPService
    let refusals: Refusals
    let hummingbird: HummingbirdRequests
    /// How long a body may take, as `BodyDeadline` has it.
    let bodyLimit: Duration
    /// How long a connection is kept on which nothing moves.
    let idleTimeout: Duration

    /// Gives a new connection its handlers. On its event loop.
    ///
    /// - Throws: when it is closed already.
    func configure(_ channel: any Channel) throws {
        // A client that reads nothing of its reply, or has vanished: the kernel knows whether bytes move. Other sockets have no
        // such option.
        let option = ChannelOptions.Types.SocketOption(level: .tcp, name: Self.userTimeout)
        try? channel.syncOptions?.setOption(option, value: SocketOptionValue(idleTimeout / .milliseconds(1)))
        let pipeline = channel.pipeline.syncOperations
        var limits = NIOHTTPDecoderLimitConfiguration()
        (limits.maxHeaderFieldSize, limits.maxHeaderListSize, limits.maxHeaderFieldCount) = (80 << 10, 80 << 10, 1_000)
        try pipeline.configureHTTPServerPipeline(
            withPipeliningAssistance: false,
            withErrorHandling: false,
            // `HTTPFields` takes no others.
            withOutboundHeaderValidation: false,
            withEncoderConfiguration: .init(),
            withDecoderLimitConfiguration: limits
        )
        try pipeline.addHandlers([
            ConnectionHandler(refusals), Self.codec, BodyDeadline(bodyLimit),
            IdleTimeout(TimeAmount(idleTimeout)),
            DirectRequests(service, hummingbird, on: channel.eventLoop),
        ])
    }
}
