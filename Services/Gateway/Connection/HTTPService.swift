internal import HTTPTypes
internal import HummingbirdCore
internal import Kernel
internal import NIOCore
internal import NIOHTTP1
private import Synchronization

/// Answers the requests of connections by the gateway's responder.
struct HTTPService: Sendable {
    private let responder: GatewayResponder
    private let date = DateField()

    init(_ responder: GatewayResponder) { self.responder = responder }

    /// Answers one request.
    ///
    /// - Throws: when the reply cannot be written.
    func answer(_ request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel) async throws {
        var response = await responder.respond(to: request, context: GatewayContext(channel: channel))
        response.headers[.date] = date.now()
        do { try await writer.write(response: response.head, body: response.body) } catch is HTTPParserError {
            // What Hummingbird answers with another reply, when this one has begun.
            throw Unfinished()
        }
    }

    private struct Unfinished: Error {}
}

/// The value of `Date`, made once a second.
private final class DateField: Sendable {
    private struct State {
        var second: Int64 = -1
        var text = ""
    }

    private let state = Mutex(State())

    func now() -> String {
        let instant = SystemClock.now()
        return state.withLock { state in
            if state.second != instant.seconds { state = State(second: instant.seconds, text: HTTPDate.text(instant)) }
            return state.text
        }
    }
}
