internal import Bus
internal import HTTPServer
internal import Kernel
internal import NIOCore
internal import NIOHTTP1
internal import Transcoding

extension StreamHub {
    /// The reply that is a stream. It is the last on its connection, so that a client of a gateway that stops goes to another one.
    ///
    /// - Throws: as `open`, and `VALIDATION_ERROR` for a `Last-Event-ID` that can be none.
    func respond(
        to request: HTTPRequest,
        _ route: Route,
        _ caller: Authenticator.Caller,
        _ exchange: Exchange,
        _ client: IPAddress?
    ) async throws -> HTTPResponse {
        let lastEventID = request.headers[field: "Last-Event-ID"]
        if let lastEventID, lastEventID.utf8.count > 64 {
            throw ServiceError.validation(field: "Last-Event-ID", "must have at most 64 bytes")
        }
        let headers: HTTPHeaders = [
            "Content-Type": "text/event-stream; charset=utf-8", "X-Request-Id": exchange.requestID, "Cache-Control": "no-store",
            "Connection": "close",
            // Asks proxies (nginx) to pass on what they get at once.
            "X-Accel-Buffering": "no",
        ]
        // Of unknown length, as the stream.
        if request.method == .HEAD { return HTTPResponse(.ok, headers, .writer(length: nil) { _ in }) }
        let context = CallContext(
            requestID: exchange.requestID,
            trace: exchange.trace,
            deadline: SystemClock.now() + .milliseconds(Int64(route.policy.timeoutMilliseconds)),
            principal: caller.principal,
            clientAddress: client
        )
        let stream = try await open(route, caller.token, lastEventID: lastEventID, context, request.channel)
        return HTTPResponse(
            .ok,
            headers,
            .handOver { $0.triggerUserOutboundEvent(StreamWriter.Begin(stream: stream), promise: nil) }
        )
    }
}
