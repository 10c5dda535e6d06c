internal import NIOCore

/// When connections are accepted, and when the listening socket can be closed without losing one. Pure: events in, answers out.
///
/// NIO drops a connection whose handlers are not in place when the listening channel closes. So the gate shuts first, waits for those that
/// are arriving, and only then is the socket closed.
struct AcceptGate {
    private let most: Int
    private var open = 0
    private var arriving: Set<ObjectIdentifier> = []
    private var isWaiting = false
    private(set) var isShut = false

    /// A gate that is open.
    ///
    /// - Parameter most: connections served at once; more wait in the kernel's queue.
    init(most: Int) { self.most = most }

    /// Whether the socket may be asked for more connections. If not, `closed` says when to ask again.
    mutating func mayAccept() -> Bool {
        isWaiting = !isShut && open >= most
        return !isShut && !isWaiting
    }

    /// A connection was accepted.
    mutating func accepted(_ connection: ObjectIdentifier) {
        open += 1
        arriving.insert(connection)
    }

    /// Its handlers are in place.
    mutating func settled(_ connection: ObjectIdentifier) { arriving.remove(connection) }

    /// It has been closed. - Returns: whether to ask the socket again.
    mutating func closed(_ connection: ObjectIdentifier) -> Bool {
        open -= 1
        arriving.remove(connection)
        guard isWaiting, !isShut, open < most else { return false }
        isWaiting = false
        return true
    }

    /// Whether more wait, and one has to go before the socket is asked again.
    var needsRoom: Bool { isWaiting && !isShut && open >= most }

    /// No more connections.
    mutating func shut() { isShut = true }

    /// Whether nothing is lost by closing the socket.
    var canClose: Bool { isShut && arriving.isEmpty }
}

/// Does on the listening channel what its `AcceptGate` says.
final class AcceptGateHandler: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never
    typealias OutboundOut = Never

    /// The handlers of a connection are in place; sent to the listening channel.
    struct Settled: Sendable {
        let connection: ObjectIdentifier
    }

    /// Accept no more connections, and close when none is arriving; sent to the listening channel.
    struct Shut: Sendable {}

    private var gate: AcceptGate
    private let makeRoom: () -> Void

    /// - Parameter makeRoom: called when no more may be accepted until one closes.
    init(_ gate: AcceptGate, makeRoom: @escaping () -> Void) { (self.gate, self.makeRoom) = (gate, makeRoom) }

    func read(context: ChannelHandlerContext) {
        if gate.mayAccept() { context.read() } else if !gate.isShut { makeRoom() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let connection = unwrapInboundIn(data)
        let id = ObjectIdentifier(connection)
        gate.accepted(id)
        let loop = context.eventLoop
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: loop)
        connection.closeFuture.whenComplete { _ in
            loop.execute {
                let (handler, context) = bound.value
                if handler.gate.closed(id) { context.read() } else if handler.gate.needsRoom { handler.makeRoom() }
                handler.closeIfPossible(context)
            }
        }
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as Settled:
            gate.settled(event.connection)
            closeIfPossible(context)
        case is Shut:
            gate.shut()
            // Also what NIO waits for already.
            context.channel.setOption(.autoRead, value: false).assumeIsolated().whenComplete { [self] _ in
                closeIfPossible(context)
            }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func closeIfPossible(_ context: ChannelHandlerContext) {
        if gate.canClose { context.close(promise: nil) }
    }
}
