internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import Kernel
internal import Runtime

/// `GET/POST /api/dev/clock` (PF-7): exists only when the development clock is on.
struct ClockRoutes: Sendable {
    let clock: DevelopmentClock
    let coordinator: DevelopmentClockCoordinator
    let bodyTimeout: Duration

    func respond(to request: Request, _ exchange: Exchange) async throws -> Response {
        switch request.method {
        case .get: break
        case .post:
            let body = try await JSONBody.collect(request, within: bodyTimeout)
            try await coordinator.set(to: try Self.target(body, now: clock.now()))
        default: throw ServiceError(.unimplemented, "METHOD_NOT_ALLOWED", "This path takes GET and POST.")
        }
        let json =
            "{\"success\":true,\"data\":{\"now\":\"\(clock.now())\",\"offset_seconds\":\(clock.shift.seconds)},\"meta\":{\"request_id\":\"\(exchange.requestID)\"}}"
        return exchange.response(status: 200, contentType: Exchange.json, bytes: Array(json.utf8))
    }

    private struct Change: Decodable {
        var advance_seconds: Int64?
        var set: String?
    }

    private static func target(_ body: [UInt8], now: Instant) throws -> Instant {
        guard let change = try? JSONDecoder().decode(Change.self, from: Data(body)) else {
            throw ServiceError.validation(field: "", "expected {\"advance_seconds\": n} or {\"set\": \"2026-01-02T03:04:05Z\"}")
        }
        switch (change.advance_seconds, change.set) {
        case (let seconds?, nil):
            guard (0...3_153_600_000).contains(seconds) else {
                throw ServiceError.validation(field: "advance_seconds", "must be from 0 to 3153600000")
            }
            return now + .seconds(seconds)
        case (nil, let text?):
            guard let instant = Instant(rfc3339: text) else {
                throw ServiceError.validation(field: "set", "must be an RFC 3339 time")
            }
            return instant
        default: throw ServiceError.validation(field: "advance_seconds", "exactly one of advance_seconds and set is required")
        }
    }
}
