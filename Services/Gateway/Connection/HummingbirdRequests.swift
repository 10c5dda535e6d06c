internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTPTypes
private import Synchronization

/// Hummingbird's part of the connections that need it: those on which a request came that is not answered on the event loop. It is the last
/// handler of such a connection and a task, and stays until the connection ends.
final class HummingbirdRequests: Sendable {
    private struct State {
        var running = 0
        /// Resumed when no task is left.
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let http: HTTP1Channel
    private let logger: Logger
    private let state = Mutex(State())

    init(_ service: HTTPService, logger: Logger) {
        (http, self.logger) = (HTTP1Channel(responder: service.answer), logger)
    }

    /// Adds Hummingbird to a connection that is open, behind all handlers. On its event loop.
    ///
    /// - Throws: when the connection takes no more handlers.
    func join(_ channel: any Channel) throws {
        let connection = try HTTP1Channel.Value(
            wrappingChannelSynchronously: channel,
            configuration: .init(isOutboundHalfClosureEnabled: true)
        )
        state.withLock { $0.running += 1 }
        Task {
            // It ends with the connection and with the request that runs then.
            await http.handle(value: connection, logger: logger)
            let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
                state.running -= 1
                guard state.running == 0 else { return nil }
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }

    /// Returns when no request runs. Once, and after the last connection has ended.
    func finish() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.running > 0 { state.waiter = continuation }
                return state.running == 0
            }
            if isDone { continuation.resume() }
        }
    }
}
