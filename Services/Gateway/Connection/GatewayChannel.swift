internal import HTTPServer
internal import NIOCore

/// What every connection has: the parser, the gateway's own rules behind it, the limits of time, and what answers requests.
///
/// Most connections are idle most of the time, so each has only handlers, and a task only while a request is answered.
struct GatewayChannel: Sendable {
    /// Memory for one read, in bytes. The least is what an idle connection keeps, and holds an ordinary request; an upload soon gets the most.
    static let receiveBuffers = AdaptiveRecvByteBufferAllocator(minimum: 1 << 10, initial: 1 << 10, maximum: 64 << 10)
    /// TCP_USER_TIMEOUT of tcp(7).
    private static let userTimeout = NIOBSDSocket.Option(rawValue: 18)

    let responder: GatewayResponder
    let refusals: Refusals
    let connections = HTTPConnections()
    /// What heads of requests may take.
    let heads: HTTPHeads
    /// How long a body may take, as `BodyDeadline` has it.
    let bodyLimit: Duration
    /// How long a connection is kept on which nothing moves.
    let idleTimeout: Duration

    /// Gives a new connection its handlers. On its event loop.
    ///
    /// - Returns: how long it has been idle, from now on.
    /// - Throws: when it is closed already.
    func configure(_ channel: any Channel) throws -> Idleness {
        // A client that reads nothing of its reply, or has vanished: the kernel knows whether bytes move. Other sockets have no
        // such option.
        let option = ChannelOptions.Types.SocketOption(level: .tcp, name: Self.userTimeout)
        try? channel.syncOptions?.setOption(option, value: SocketOptionValue(idleTimeout / .milliseconds(1)))
        let pipeline = channel.pipeline.syncOperations
        let idleness = Idleness()
        try pipeline.addHTTP(heads)
        try pipeline.addHandlers([
            ConnectionHandler(refusals), BodyDeadline(bodyLimit), IdleTimeout(TimeAmount(idleTimeout), idleness),
            HTTPRequests(on: channel.eventLoop, of: connections, rules: .elsewhere) { [responder] in responder.answer(to: $0) },
        ])
        return idleness
    }
}
