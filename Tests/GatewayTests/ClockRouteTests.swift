import Kernel
import Runtime
import Testing

@testable import GatewayService

/// What `POST /api/dev/clock` takes (PF-7).
struct ClockRouteTests {
    private let now = Instant(seconds: 1_780_000_000)

    private func target(_ json: String, now: Instant? = nil) throws(ServiceError) -> Instant {
        try ClockRoutes.target(Array(json.utf8), now: now ?? self.now)
    }

    @Test func `a step or an instant is a target`() throws {
        #expect(try target("{\"advance_seconds\":90}") == now + .seconds(90))
        #expect(try target("{\"set\":\"2030-01-01T00:00:00Z\"}") == Instant(rfc3339: "2030-01-01T00:00:00Z"))
        #expect(try target("{\"set\":\"9999-12-31T23:59:59.999999Z\"}") == DevelopmentClock.latest)
    }

    @Test(
        arguments: [
            ("{\"advance_seconds\":9223372036854775807}", "advance_seconds"),
            ("{\"advance_seconds\":-9223372036854775808}", "advance_seconds"),
            ("{\"advance_seconds\":9223372036854775808}", "advance_seconds"), ("{\"advance_seconds\":1e400}", "advance_seconds"),
            ("{\"advance_seconds\":1e18}", "advance_seconds"), ("{\"advance_seconds\":0.5}", "advance_seconds"),
            ("{\"advance_seconds\":\"1\"}", "advance_seconds"), ("{\"advance_seconds\":3153600001}", "advance_seconds"),
            ("{\"set\":\"9999-12-31T23:59:59-00:01\"}", "set"), ("{\"set\":\"9999-12-31T23:59:60Z\"}", "set"),
            ("{\"set\":\"10000-01-01T00:00:00Z\"}", "set"), ("{\"set\":\"292277-01-10T04:00:54Z\"}", "set"),
            ("{\"set\":253402300800}", "set"), ("{}", "advance_seconds"),
        ]
    ) func `what the clock could not follow is refused, and the field is named`(json: String, field: String) {
        let error = #expect(throws: ServiceError.self) { try target(json) }
        #expect(error?.reason == "VALIDATION_ERROR" && error?.details.map(\.field) == [field], "\(json): \(error as Any)")
    }

    @Test func `steps that each are allowed do not lead beyond the end`() {
        for start in [DevelopmentClock.latest, DevelopmentClock.latest + .days(1), Instant(microseconds: .max)] {
            let error = #expect(throws: ServiceError.self) { try target("{\"advance_seconds\":3153600000}", now: start) }
            #expect(error?.details.map(\.field) == ["advance_seconds"])
        }
    }
}
