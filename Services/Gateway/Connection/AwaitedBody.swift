internal import Hummingbird
internal import NIOCore

/// The body of a request whose client waits for `100 Continue` (RFC 9110 §10.1.1): asks for it when reading begins. A request that
/// is refused before that gets its final status at once.
struct AwaitedBody: AsyncSequence, Sendable {
    let body: RequestBody
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        var body: RequestBody.AsyncIterator
        let channel: any Channel
        var isWanted = false

        mutating func next() async throws -> ByteBuffer? {
            if !isWanted {
                isWanted = true
                channel.triggerUserOutboundEvent(BodyWanted(), promise: nil)
            }
            return try await body.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: body.makeAsyncIterator(), channel: channel) }
}
