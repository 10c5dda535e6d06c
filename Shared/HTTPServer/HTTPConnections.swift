public import NIOCore
private import Synchronization

/// The open connections of a server and the requests that run for them: what a server that stops waits for.
public final class HTTPConnections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: any Channel] = [:]
        var running = 0
        /// What all were notified of last.
        var news: (any Sendable)?
        /// Resumed when nothing is left.
        var waiter: CheckedContinuation<Void, Never>?

        /// Who waits, when nothing is left.
        mutating func finished() -> CheckedContinuation<Void, Never>? {
            guard open.isEmpty, running == 0 else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = Mutex(State())

    /// None yet.
    public init() {}

    /// Connections that are open.
    public var count: Int { state.withLock { $0.open.count } }

    /// Adds a connection until it closes, and notifies it of what all others know.
    public func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let news = state.withLock { state in
            state.open[id] = channel
            return state.news
        }
        if let news { channel.pipeline.fireUserInboundEventTriggered(news) }
        channel.closeFuture.whenComplete { [self] _ in
            let waiter = state.withLock { state in
                state.open[id] = nil
                return state.finished()
            }
            waiter?.resume()
        }
    }

    /// Triggers an event on every connection, now or when it is opened.
    public func tell(_ news: any Sendable) {
        let channels = state.withLock { state in
            state.news = news
            return Array(state.open.values)
        }
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(news) }
    }

    /// Returns when all are closed and nothing runs for one of them. Once.
    public func finish() async {
        await withCheckedContinuation { continuation in
            let waiter = state.withLock { state in
                state.waiter = continuation
                return state.finished()
            }
            waiter?.resume()
        }
    }

    func began() { state.withLock { $0.running += 1 } }

    func ended() {
        let waiter = state.withLock { state in
            state.running -= 1
            return state.finished()
        }
        waiter?.resume()
    }
}
