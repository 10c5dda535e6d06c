import Kernel
import Runtime
import Testing

@testable import GatewayService

/// What `POST /api/dev/clock` takes (PF-7).
struct ClockRouteTests {
    private func move(_ json: String) throws(ServiceError) -> ClockRoutes.Move { try ClockRoutes.move(Array(json.utf8)) }

    @Test func `a step or an instant is a move`() throws {
        #expect(try move("{\"advance_seconds\":90}") == .advance(.seconds(90)))
        #expect(try move("{\"advance_seconds\":0}") == .advance(.zero), "what is due runs, and time goes on")
        #expect(try move("{\"set\":\"2030-01-01T00:00:00Z\"}") == .set(try #require(Instant(rfc3339: "2030-01-01T00:00:00Z"))))
        #expect(try move("{\"set\":\"2100-01-01T00:00:00Z\"}") == .set(DevelopmentClock.latest))
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
        let error = #expect(throws: ServiceError.self) { try move(json) }
        #expect(error?.reason == "VALIDATION_ERROR" && error?.details.map(\.field) == [field], "\(json): \(error as Any)")
    }

    @Test func `a field that is given twice is refused`() {
        let error = #expect(throws: ServiceError.self) { try move("{\"advance_seconds\":1,\"advance_seconds\":2}") }
        #expect(error?.details == [.init(field: "advance_seconds", message: "is given twice")])
    }

    @Test func `both fields are named when both are wrong`() {
        for json in ["{\"advance_seconds\":\"1\",\"set\":5}", "{\"advance_seconds\":-1,\"set\":\"tomorrow\"}"] {
            let error = #expect(throws: ServiceError.self) { try move(json) }
            #expect(error?.details.map(\.field) == ["advance_seconds", "set"], "\(json): \(error as Any)")
        }
    }

    @Test func `a field that there is none of is named with the one that was meant, beside what else is wrong`() {
        let error = #expect(throws: ServiceError.self) { try move("{\"advance_second\":90,\"set\":5}") }
        #expect(error?.details.map(\.field) == ["advance_second", "set"])
        #expect(error?.details.first?.message == "is not a known field: did you mean advance_seconds?")
    }

    @Test(arguments: ["{\"advance_seconds\":-1}", "{\"advance_seconds\":0.5}", "{\"set\":\"tomorrow\"}"])
    func `a refusal says how far the clock can be moved`(json: String) {
        let error = #expect(throws: ServiceError.self) { try move(json) }
        #expect(error?.details.first?.message.contains("\(DevelopmentClock.latest)") == true, "\(error as Any)")
    }
}
