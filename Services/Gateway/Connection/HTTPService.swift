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

    /// A reply that is there as a whole, or the head of one that is followed by a stream.
    struct Reply: Sendable {
        let head: HTTPResponse
        let body: ByteBuffer
        let stream: EventStream?
    }

    /// Whether `reply` may answer a request: it is small, and its reply is JSON or a stream of events.
    func answersDirectly(_ head: HTTPRequest) -> Bool {
        let headers = head.headerFields
        guard headers[.expect] == nil, headers[.transferEncoding] == nil, headers[.contentEncoding] == nil,
            headers[.contentLength].map({ Int($0) ?? .max }) ?? 0 <= Self.mostDirectBytes
        else { return false }
        return responder.answersDirectly(method: head.method, path: head.path ?? "")
    }

    /// Bodies up to here are collected on the event loop.
    private static let mostDirectBytes = 16 << 10

    /// Answers one request that `answersDirectly`.
    func reply(to request: Request, _ channel: any Channel) async -> Reply {
        let response = await response(to: request, channel, isWhole: true)
        let body = DirectBody()
        // It only collects, and throws nothing.
        try? await response.body.write(body)
        return Reply(head: response.head, body: body.buffer, stream: body.stream)
    }

    private func response(to request: Request, _ channel: any Channel, isWhole: Bool) async -> Response {
        var response = await responder.respond(to: request, context: GatewayContext(channel: channel, isWhole: isWhole))
        response.headers[.date] = date.now()
        return response
    }

    /// Answers one request.
    ///
    /// - Throws: when the reply cannot be written.
    func answer(_ request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel) async throws {
        let response = await response(to: request, channel, isWhole: false)
        do { try await writer.write(response: response.head, body: response.body) } catch is HTTPParserError {
            // What Hummingbird answers with another reply, when this one has begun.
            throw Unfinished()
        }
    }

    private struct Unfinished: Error {}
}

/// Keeps what is written, or the stream of which it would be the writer. Only for the task that writes.
final class DirectBody: ResponseBodyWriter {
    private(set) var buffer = ByteBuffer()
    var stream: EventStream?

    func write(_ buffer: ByteBuffer) async throws {
        if self.buffer.readableBytes == 0 { self.buffer = buffer } else { self.buffer.writeImmutableBuffer(buffer) }
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
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
