private import Glibc
internal import Logging
internal import NIOCore
internal import NIOPosix
private import Synchronization

/// Accepts connections and serves them, until it is drained so that clients without retries lose nothing.
final class HTTPListener: Sendable {
    /// Where to accept from.
    enum Place: Sendable {
        /// A listening socket that a supervisor keeps open too; a descriptor that now belongs to the listener.
        case inherited(Int32)
        /// A socket of our own; port 0 picks a free one.
        case address(host: String, port: Int)

        /// Whether others may accept from it too.
        var isInherited: Bool {
            if case .inherited = self { true } else { false }
        }
    }

    /// Connections that may wait in the kernel to be accepted.
    private static let backlog: Int32 = 256
    /// The same for an inherited socket, whose supervisor allowed as many: NIO sets 128.
    private static let inheritedBacklog: Int32 = 4_096

    private let handler: GatewayChannel
    private let shares: ConnectionShares
    private let most: Int
    private let logger: Logger
    private let state = Mutex(State())

    private struct State {
        var socket: (any Channel)?
        var isDraining = false
    }

    /// A listener that does not listen yet.
    ///
    /// - Parameter most: connections served at once; for more, those that have been idle longest are closed, or they wait to be accepted.
    init(_ handler: GatewayChannel, most: Int, _ shares: ConnectionShares, logger: Logger) {
        (self.handler, self.most, self.shares, self.logger) = (handler, most, shares, logger)
    }

    /// Connections that are served now.
    var openConnections: Int { handler.connections.count }

    /// Memory that heads of requests take which have not arrived whole.
    var headBytes: Int { handler.heads.bytes }

    /// Begins to accept.
    ///
    /// - Returns: the port.
    /// - Throws: the operating system's error when the address cannot be listened on.
    func listen(on place: Place) async throws -> Int {
        let gate = AcceptGate(most: most)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.recvAllocator, value: GatewayChannel.receiveBuffers)
            .serverChannelInitializer { [shares] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        AcceptGateHandler(gate) { [shares] in shares.makeRoom() },
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: false),
                    ])
                }
            }
            .childChannelInitializer { [self] channel in prepare(channel) }
        let socket: any Channel
        switch place {
        case .inherited(let descriptor):
            socket = try await bootstrap.withBoundSocket(descriptor).get()
            Glibc.listen(descriptor, Self.inheritedBacklog)
        case .address(let host, let port): socket = try await bootstrap.bind(host: host, port: port).get()
        }
        state.withLock { $0.socket = socket }
        socket.closeFuture.whenComplete { [self] _ in
            if !state.withLock({ $0.isDraining }) { logger.error("the listening socket was closed") }
        }
        return socket.localAddress?.port ?? 0
    }

    /// Accepts no more, serves the connections that are open, and returns when all are closed.
    ///
    /// Each reply from now on says `Connection: close`. A client that sends nothing keeps its connection for as long as `limit`; what it
    /// sends until then is answered. Requests that run are finished however long they take.
    ///
    /// - Parameter limit: how long idle connections live.
    func drain(within limit: Duration) async {
        let connections = handler.connections
        let socket = state.withLock { state in
            state.isDraining = true
            return state.socket
        }
        connections.tell(Drain.begins)
        if let socket {
            socket.pipeline.fireUserInboundEventTriggered(AcceptGateHandler.Shut())
            try? await socket.closeFuture.get()
        }
        let ending = Task {
            try await Task.sleep(for: limit)
            connections.tell(Drain.ends)
        }
        await connections.finish()
        ending.cancel()
    }

    private func prepare(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let idleness = try handler.configure(channel)
            let start = ConnectionStart { [self] in opened(channel, idleness) }
            try channel.pipeline.syncOperations.addHandler(start, position: .first)
        }
    }

    private func opened(_ channel: any Channel, _ idleness: Idleness) {
        handler.connections.add(channel)
        shares.add(channel, idleness)
        let settled = AcceptGateHandler.Settled(connection: ObjectIdentifier(channel))
        channel.parent?.pipeline.fireUserInboundEventTriggered(settled)
    }
}

/// Whether the gateway stops.
final class Draining: Sendable {
    private let flag = Atomic(false)

    var hasBegun: Bool { flag.load(ordering: .relaxed) }

    func begin() { flag.store(true, ordering: .relaxed) }
}

/// What a connection is sent while the gateway stops.
enum Drain: Sendable {
    /// From now on each reply closes its connection.
    case begins
    /// A connection without a request closes now, another after its reply.
    case ends
}

/// Begins to serve a connection when it can be read from: then the listening channel no longer has a say in it.
private final class ConnectionStart: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let begin: () -> Void

    init(_ begin: @escaping () -> Void) { self.begin = begin }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        begin()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}
