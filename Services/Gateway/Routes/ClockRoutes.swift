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
        case .get, .head: break
        case .post:
            let body = try await JSONBody.collect(request, within: bodyTimeout)
            try await coordinator.set(to: try Self.target(body, now: clock.now()))
        default: return exchange.methodNotAllowed(["GET", "HEAD", "POST"])
        }
        let json =
            "{\"success\":true,\"data\":{\"now\":\"\(clock.now())\",\"offset_seconds\":\(clock.shift.seconds)},\"meta\":{\"request_id\":\"\(exchange.requestID)\"}}"
        return exchange.response(status: 200, contentType: Exchange.json, bytes: Array(json.utf8))
    }

    private struct Change: Decodable {
        enum CodingKeys: String, CodingKey {
            case advance_seconds
            case set
        }

        let advanceSeconds: Int64?
        let set: String?

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            advanceSeconds = try Self.value(.advance_seconds, "must be a whole number of seconds from 0 to 3153600000", members)
            set = try Self.value(.set, "must be an RFC 3339 time", members)
        }

        /// A decoder's own error does not always say which member is wrong.
        private static func value<Value: Decodable>(
            _ key: CodingKeys,
            _ problem: String,
            _ members: KeyedDecodingContainer<CodingKeys>
        ) throws(ServiceError) -> Value? {
            do { return try members.decodeIfPresent(Value.self, forKey: key) } catch {
                throw ServiceError.validation(field: key.rawValue, problem)
            }
        }
    }

    /// What a body asks for.
    ///
    /// - Throws: `VALIDATION_ERROR` naming the field that is wrong.
    static func target(_ body: [UInt8], now: Instant) throws(ServiceError) -> Instant {
        let change = try decoded(body)
        let (field, target): (String, Instant)
        switch (change.advanceSeconds, change.set) {
        case (let seconds?, nil):
            guard (0...3_153_600_000).contains(seconds) else {
                throw ServiceError.validation(field: "advance_seconds", "must be from 0 to 3153600000")
            }
            (field, target) = ("advance_seconds", now + .seconds(seconds))
        case (nil, let text?):
            guard let instant = Instant(rfc3339: text) else {
                throw ServiceError.validation(field: "set", "must be an RFC 3339 time")
            }
            (field, target) = ("set", instant)
        default: throw ServiceError.validation(field: "advance_seconds", "exactly one of advance_seconds and set is required")
        }
        guard target <= DevelopmentClock.latest else {
            throw ServiceError.validation(field: field, "must not move the clock beyond \(DevelopmentClock.latest)")
        }
        return target
    }

    private static func decoded(_ body: [UInt8]) throws(ServiceError) -> Change {
        do { return try JSONDecoder().decode(Change.self, from: Data(body)) } catch let error as ServiceError {
            throw error
        } catch {
            throw ServiceError.validation(field: "", "expected {\"advance_seconds\": n} or {\"set\": \"2026-01-02T03:04:05Z\"}")
        }
    }
}
