internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import Synchronization

/// One connection: Hummingbird's HTTP/1 with the gateway's own rules behind the parser, and the short way for ordinary requests.
struct GatewayChannel: ServerChildChannel {
    /// A connection that waits to be handled.
    struct Value: ServerChildChannelValue {
        let http: HTTP1Channel.Value
        let claim: Claim

        var channel: any Channel { http.channel }
    }

    /// The right to handle a connection, and to close it: the first to ask gets it.
    final class Claim: Sendable {
        private let isTaken = Atomic(false)

        /// - Returns: false when it is taken already.
        func take() -> Bool { !isTaken.exchange(true, ordering: .acquiringAndReleasing) }
    }

    let http: HTTP1Channel
    let service: HTTPService
    let refusals: Refusals

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { http in
            let value = Value(http: http, claim: Claim())
            // A server that stops drops connections it has just accepted, and a client may be gone before this has ended. NIO ends the
            // process when a channel's writer is released unfinished, so it is held here until it is finished.
            channel.closeFuture.whenComplete { _ in
                guard value.claim.take() else { return }
                Task { try? await value.http.executeThenClose { _, _ in } }
            }
            let pipeline = channel.pipeline.syncOperations
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(ConnectionHandler(refusals), position: .after(parser))
            let last = try pipeline.handler(type: HTTPConnectionStateHandler.self)
            try pipeline.addHandler(DirectRequests(service, on: channel.eventLoop), position: .after(last))
            return value
        }
    }

    func handle(value: Value, logger: Logger) async {
        guard value.claim.take() else { return }
        await http.handle(value: value.http, logger: logger)
    }
}
