internal import FoundationEssentials
internal import HTTPServer
internal import Kernel
internal import Runtime
internal import Transcoding

/// `GET/POST /api/dev/clock` (PF-7): exists only when the development clock is on.
struct ClockRoutes: Sendable {
    let clock: DevelopmentClock
    let coordinator: DevelopmentClockCoordinator
    let bodyTimeout: Duration

    func respond(to request: HTTPRequest, _ exchange: Exchange) async throws -> HTTPResponse {
        switch request.method {
        case .GET, .HEAD: break
        case .POST:
            let body = try await JSONBody.collect(request, within: bodyTimeout)
            switch try Self.move(body) {
            case .advance(let step): try await coordinator.advance(by: step)
            case .set(let target): try await coordinator.set(to: target)
            }
        default: return exchange.methodNotAllowed(["GET", "HEAD", "POST"])
        }
        let json =
            "{\"success\":true,\"data\":{\"now\":\"\(clock.now())\",\"offset_seconds\":\(clock.shift.seconds)},\"meta\":{\"request_id\":\"\(exchange.requestID)\"}}"
        return exchange.response(status: 200, contentType: Exchange.json, bytes: Array(json.utf8))
    }

    /// A hundred years: no step that the clock could follow is longer.
    private static let mostSeconds: Int64 = 3_153_600_000
    private static let advanceRange =
        "must be a whole number of seconds from 0 to \(mostSeconds) that does not lead beyond \(DevelopmentClock.latest)"
    private static let setRange = "must be an RFC 3339 time, not behind the present and not after \(DevelopmentClock.latest)"

    private struct Change: Decodable {
        enum CodingKeys: String, CodingKey, CaseIterable {
            case advance_seconds
            case set
        }

        /// A member of any name.
        private struct AnyKey: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        let advanceSeconds: Int64?
        let target: Instant?

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            let names = CodingKeys.allCases.map(\.rawValue)
            let unknown = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue).filter { !names.contains($0) }
            var check = FieldCheck()
            for name in unknown.sorted().prefix(10) {
                check.require(false, String(name.prefix(100)), NearName.problemOrAll("is not a known field", name, among: names))
            }
            let advanceSeconds: Int64?? = try check.take { try Self.value(.advance_seconds, advanceRange, members) }
            let set: String?? = try check.take { try Self.value(.set, setRange, members) }
            if let seconds = advanceSeconds ?? nil {
                check.require((0...mostSeconds).contains(seconds), CodingKeys.advance_seconds.rawValue, advanceRange)
            }
            target = try check.take(set ?? nil) { text in
                guard let instant = Instant(rfc3339: text), instant <= DevelopmentClock.latest else {
                    throw ServiceError.validation(field: CodingKeys.set.rawValue, setRange)
                }
                return instant
            }
            try check.finish()
            self.advanceSeconds = advanceSeconds ?? nil
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

    /// How the clock is to be moved.
    enum Move: Equatable {
        case advance(Interval)
        case set(Instant)
    }

    /// What a body asks for. Where the clock is now is for the coordinator, which alone knows.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    static func move(_ body: [UInt8]) throws(ServiceError) -> Move {
        let change = try decoded(body)
        // A decoder takes one of two.
        let text = String(decoding: body, as: UTF8.self)
        for key in Change.CodingKeys.allCases where text.ranges(of: "\"\(key.rawValue)\"").count > 1 {
            throw .validation(field: key.rawValue, "is given twice")
        }
        switch (change.advanceSeconds, change.target) {
        case (let seconds?, nil): return .advance(.seconds(seconds))
        case (nil, let instant?): return .set(instant)
        default: throw .validation(field: "advance_seconds", "exactly one of advance_seconds and set is required")
        }
    }

    private static func decoded(_ body: [UInt8]) throws(ServiceError) -> Change {
        do { return try JSONDecoder().decode(Change.self, from: Data(body)) } catch let error as ServiceError {
            throw error
        } catch {
            throw ServiceError.validation(field: "", "expected {\"advance_seconds\": n} or {\"set\": \"2026-01-02T03:04:05Z\"}")
        }
    }
}
