internal import HTTPTypes
internal import Kernel
internal import NIOCore
internal import NIOHTTP1
internal import Transcoding

/// Replies to what is no correct HTTP and so never becomes a request: in the shape of all other errors (PF-1, PF-6).
struct Refusals: Sendable {
    let ids: any IDSource
    let crossOrigin: CrossOrigin
    let metrics: GatewayMetrics

    /// A whole reply, after which the connection ends.
    ///
    /// - Parameter sent: the request's headers, as far as they were understood.
    func reply(to error: ServiceError, _ sent: HTTPHeaders) -> (head: HTTPResponseHead, body: ByteBuffer) {
        let requestID = Exchange.requestID(sent["X-Request-Id"].first, ids)
        let status = Exchange.status(of: error)
        metrics.malformed(status: status)
        let body = ByteBuffer(bytes: ErrorEnvelope.json(error, requestID: requestID))
        var fields: HTTPFields = [
            .contentType: Exchange.json, .contentLength: "\(body.readableBytes)", .connection: "close", .cacheControl: "no-store",
            .date: HTTPDate.text(SystemClock.now()), .requestID: requestID,
        ]
        crossOrigin.addHeaders(to: &fields, for: sent["Origin"].first)
        let headers = HTTPHeaders(fields.map { ($0.name.rawName, $0.value) })
        return (HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers), body)
    }
}
