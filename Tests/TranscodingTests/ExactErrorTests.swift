import Kernel
import Testing

@testable import Transcoding

/// Failures of routes whose bodies follow a published interface.
struct ExactErrorTests {
    private func json(_ error: ServiceError) -> String {
        String(decoding: ErrorEnvelope.json(error, requestID: "r", isExact: true), as: UTF8.self)
    }

    @Test func `details are an object with numbers and flags, each field once`() {
        let details = [
            ("left", "0"), ("cost", "0.99"), ("can", "true"), ("date", "2025-10-15"), ("left", "again"), ("", "no"),
            ("id", "007"),
        ]
        let error = ServiceError(
            .failedPrecondition,
            "NO",
            "No.",
            details: details.map { ServiceError.Detail(field: $0.0, message: $0.1) }
        )
        let object = #"{"left":0,"cost":0.99,"can":true,"date":"2025-10-15","request":"no","id":"007"}"#
        let envelope =
            #"{"success":false,"error":{"code":"NO","message":"No.","details":"# + object + #"},"meta":{"request_id":"r"}}"#
        #expect(json(error) == envelope)
    }

    @Test func `what is wrong with fields is a sentence, as published`() {
        let error = ServiceError.validation([
            .init(field: "mood_score", message: "must be between 1 and 10"),
            .init(field: "energy_level", message: "7 is too much"),
        ])
        #expect(json(error).contains(#""details":{"mood_score":"Must be between 1 and 10","energy_level":"7 is too much"}"#))
    }

    @Test func `a caller who is not signed in is unauthorized`() {
        #expect(json(ServiceError(.unauthenticated, "TOKEN_EXPIRED", "Sign in.")).contains(#""code":"UNAUTHORIZED""#))
        #expect(
            json(ServiceError(.permissionDenied, "ADMIN_ONLY", "No.")).contains(
                #""code":"ADMIN_ONLY","message":"No.","details":{}"#
            )
        )
    }

    @Test func `what is a number in JSON is distinguished from what is none`() {
        for text in ["0", "-1", "12", "0.99", "-0.5", "true", "false"] { #expect(ErrorEnvelope.isLiteral(text), "\(text)") }
        for text in ["", "-", ".5", "1.", "01", "1e3", "1.2.3", "NaN", "+1", "1 ", "null", "2025-10-15"] {
            #expect(!ErrorEnvelope.isLiteral(text), "\(text)")
        }
    }
}
