internal import Kernel
internal import NIOCore
private import Synchronization

/// How long a connection has been idle: nothing of a request has arrived whole, none is being answered, and all replies are written. Changed on
/// its event loop, read by any thread.
final class Idleness: Sendable {
    /// Nanoseconds of the event loops' clock; 0 while it is busy.
    private let begin = Atomic<UInt64>(NIODeadline.now().uptimeNanoseconds)

    func begins(_ instant: NIODeadline) { begin.store(instant.uptimeNanoseconds, ordering: .relaxed) }
    func ends() { begin.store(0, ordering: .relaxed) }

    /// Since when; nil while it is busy.
    var since: UInt64? {
        let instant = begin.load(ordering: .relaxed)
        return instant == 0 ? nil : instant
    }
}

/// Which connections go when there are too many of one client's, or of all: those that have been idle longest, so that a client that only opens
/// connections keeps no other out (D22).
final class ConnectionShares: Sendable {
    private struct Entry {
        let channel: any Channel
        let client: IPAddress?
        let idleness: Idleness
        var isLeaving = false
    }

    private struct State {
        var open: [ObjectIdentifier: Entry] = [:]
        var ofClient: [IPAddress: Int] = [:]
    }

    private let share: Int
    private let clientOf: @Sendable (SocketAddress?) -> IPAddress?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - share: connections of one client at once, at least 1.
    ///   - client: whose share the other end of a connection has; nil for one that has none of its own: it is bound by the limit of all only.
    init(share: Int, client: @escaping @Sendable (SocketAddress?) -> IPAddress?) {
        (self.share, clientOf) = (max(1, share), client)
    }

    /// Adds a connection until it closes. One too many of its client ends some that have been idle longest; when all are busy, itself.
    func add(_ channel: any Channel, _ idleness: Idleness) {
        let (id, client) = (ObjectIdentifier(channel), clientOf(channel.remoteAddress))
        let leaving = state.withLock { state -> [any Channel] in
            var leaving: [any Channel] = []
            if let client {
                let count = state.ofClient[client, default: 0] + 1
                state.ofClient[client] = count
                if count > share {
                    leaving = Self.idlest(&state, atMost: max(1, share / 64)) { $0.client == client }
                    if leaving.isEmpty { leaving = [channel] }
                }
            }
            state.open[id] = Entry(channel: channel, client: client, idleness: idleness)
            return leaving
        }
        end(leaving)
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { state in
                state.open[id] = nil
                guard let client else { return }
                let left = state.ofClient[client, default: 1] - 1
                state.ofClient[client] = left > 0 ? left : nil
            }
        }
    }

    /// Ends some of those that have been idle longest, since more wait to be accepted.
    func makeRoom() { end(state.withLock { Self.idlest(&$0, atMost: max(1, $0.open.count / 64)) { _ in true } }) }

    /// Some at once, since all have to be looked at to find one.
    private static func idlest(_ state: inout State, atMost most: Int, _ mayLeave: (Entry) -> Bool) -> [any Channel] {
        let idle = state.open.compactMap { id, entry in
            !entry.isLeaving && mayLeave(entry) ? entry.idleness.since.map { (since: $0, id: id) } : nil
        }
        return idle.sorted { $0.since < $1.since }.prefix(most).compactMap { found in
            state.open[found.id]?.isLeaving = true
            return state.open[found.id]?.channel
        }
    }

    private func end(_ channels: [any Channel]) {
        // One that has become busy since ends after its reply.
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(Drain.ends) }
    }
}
