internal import Bus
internal import HTTPTypes
internal import Hummingbird
internal import Kernel
internal import NIOCore
internal import Transcoding

extension StreamHub {
    /// The reply that is a stream. It is the last on its connection, so that a client of a gateway that stops goes to another one.
    ///
    /// - Throws: as `open`, and `VALIDATION_ERROR` for a `Last-Event-ID` that can be none.
    func respond(
        to request: Request,
        _ route: Route,
        _ caller: Authenticator.Caller,
        _ exchange: Exchange,
        _ client: IPAddress?,
        _ channel: any Channel
    ) async throws -> Response {
        let lastEventID = request.headers[.lastEventID]
        if let lastEventID, lastEventID.utf8.count > 64 {
            throw ServiceError.validation(field: "Last-Event-ID", "must have at most 64 bytes")
        }
        let headers: HTTPFields = [
            .contentType: "text/event-stream; charset=utf-8", .requestID: exchange.requestID, .cacheControl: "no-store",
            .connection: "close", .accelBuffering: "no",
        ]
        if request.method == .head {
            // Of unknown length, as the stream.
            return Response(status: .ok, headers: headers, body: ResponseBody { try await $0.finish(nil) })
        }
        let context = CallContext(
            requestID: exchange.requestID,
            trace: exchange.trace,
            deadline: SystemClock.now() + .milliseconds(Int64(route.policy.timeoutMilliseconds)),
            principal: caller.principal,
            clientAddress: client
        )
        let stream = try await open(route, caller.token, lastEventID: lastEventID, context, channel)
        return Response(status: .ok, headers: headers, body: ResponseBody { try await stream.write(to: &$0) })
    }
}

extension HTTPField.Name {
    static let lastEventID = HTTPField.Name("Last-Event-ID") ?? .accept
    /// Asks proxies (nginx) to pass on what they get at once.
    static let accelBuffering = HTTPField.Name("X-Accel-Buffering") ?? .accept
}
