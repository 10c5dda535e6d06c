import DevEnvironment
import NIOCore
import NIOPosix
import Synchronization

/// A socket in front of PostgreSQL that can make it slow or away, for one world.
final class DatabaseProxy: Sendable {
    /// How PostgreSQL seems to the services.
    struct Behaviour: Hashable, Sendable {
        /// How much longer each round trip takes, in milliseconds.
        var delay: Int64 = 0
        /// Whether connections are closed, and new ones refused.
        var isAway = false
    }

    private struct State {
        var behaviour = Behaviour()
        var listener: (any Channel)?
        var clients: [ObjectIdentifier: any Channel] = [:]
    }

    private let target: PostgresAddress
    private let state = Mutex(State())

    /// A proxy of what listens at an address.
    init(to target: PostgresAddress) { self.target = target }

    /// Begins to listen: on a socket in the folder, or on 127.0.0.1 when the folder's path does not serve.
    ///
    /// - Returns: where.
    /// - Throws: the operating system's error.
    func listen(in folder: String) async throws -> PostgresAddress {
        let address = PostgresAddress(socketIn: folder, port: 5_432)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { [self] channel in accept(channel) }
        let listener =
            if let path = address?.socketPath {
                try await bootstrap.bind(unixDomainSocketPath: path).get()
            } else {
                try await bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1).bind(host: "127.0.0.1", port: 0).get()
            }
        state.withLock { $0.listener = listener }
        return address ?? .port(listener.localAddress?.port ?? 0)
    }

    var behaviour: Behaviour { state.withLock { $0.behaviour } }

    /// From now on, also for what is on its way.
    func behave(_ behaviour: Behaviour) {
        let closed = state.withLock { state in
            state.behaviour = behaviour
            return behaviour.isAway ? Array(state.clients.values) : []
        }
        for client in closed { client.close(promise: nil) }
    }

    /// Closes everything.
    func stop() async {
        let (listener, clients) = state.withLock { ($0.listener, Array($0.clients.values)) }
        for client in clients { client.close(promise: nil) }
        try? await listener?.close().get()
    }

    private func accept(_ client: any Channel) -> EventLoopFuture<Void> {
        let isRefused = state.withLock { state in
            if !state.behaviour.isAway { state.clients[ObjectIdentifier(client)] = client }
            return state.behaviour.isAway
        }
        guard !isRefused else { return client.close() }
        client.closeFuture.whenComplete { [self] _ in
            state.withLock { state in state.clients[ObjectIdentifier(client)] = nil }
        }
        return connect(on: client.eventLoop)
            .flatMapThrowing { [self] server in
                try client.pipeline.syncOperations.addHandler(Forwarder(to: server) { [self] in behaviour.delay })
                try server.pipeline.syncOperations.addHandler(Forwarder(to: client) { 0 })
                // The client is not registered yet: it reads from then on.
                for channel in [client, server] {
                    channel.setOption(.autoRead, value: true).whenFailure { _ in channel.close(promise: nil) }
                }
            }
    }

    private func connect(on loop: any EventLoop) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: loop).channelOption(.autoRead, value: false)
        return switch target {
        case .port(let port):
            bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1).connect(host: "127.0.0.1", port: port)
        case .socket(let folder, let port):
            bootstrap.connect(unixDomainSocketPath: PostgresAddress.path(of: port, in: folder))
        }
    }
}

/// Passes on what one side sends, after a pause.
private final class Forwarder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let peer: any Channel
    private let delay: () -> Int64
    /// When the last bytes are passed on: later ones never earlier than they, whatever the pause is then.
    private var last = NIODeadline.uptimeNanoseconds(0)

    /// - Parameter delay: the pause now, in milliseconds.
    init(to peer: any Channel, delay: @escaping () -> Int64) { (self.peer, self.delay) = (peer, delay) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        after(context) { $0.writeAndFlush(bytes, promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        after(context) { $0.close(promise: nil) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error _: any Error) { context.close(promise: nil) }

    private func after(_ context: ChannelHandlerContext, _ act: @escaping @Sendable (any Channel) -> Void) {
        let (now, pause) = (NIODeadline.now(), delay())
        guard pause > 0 || last > now else { return act(peer) }
        last = max(now + .milliseconds(pause), last + .nanoseconds(1))
        context.eventLoop.scheduleTask(deadline: last) { [peer] in act(peer) }
    }
}
