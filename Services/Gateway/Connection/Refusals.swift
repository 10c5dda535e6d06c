internal import HTTPServer
internal import Kernel
internal import NIOCore
internal import NIOHTTP1
internal import Transcoding

/// Replies to what is no correct HTTP, or arrives too slowly, and so never becomes a request: in the shape of all other errors (PF-1, PF-6).
struct Refusals: Sendable {
    let ids: any IDSource
    let crossOrigin: CrossOrigin
    let metrics: GatewayMetrics

    /// A whole reply, after which the connection ends.
    ///
    /// - Parameter sent: the request's headers, as far as they were understood.
    func reply(to error: ServiceError, _ sent: HTTPHeaders) -> (head: HTTPResponseHead, body: ByteBuffer) {
        let requestID = Exchange.requestID(sent[field: "X-Request-Id"], ids)
        let status = Exchange.status(of: error)
        metrics.malformed(status: status)
        if error.code == .unavailable { metrics.refusedOne() }
        let body = ByteBuffer(bytes: ErrorEnvelope.json(error, requestID: requestID))
        var headers: HTTPHeaders = [
            "Content-Type": Exchange.json, "Content-Length": "\(body.readableBytes)", "Connection": "close",
            "Cache-Control": "no-store", "Date": HTTPDate.now(), "X-Request-Id": requestID, "X-Content-Type-Options": "nosniff",
        ]
        headers.describe(error)
        crossOrigin.addHeaders(to: &headers, for: sent[field: "Origin"])
        return (HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers), body)
    }
}
