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
            #"{"success":false,"error":{"code":"NO","reason":"NO","message":"No.","details":"# + object
            + #"},"meta":{"request_id":"r"}}"#
        #expect(json(error) == envelope)
    }

    @Test func `what is wrong with fields is a sentence, as published`() {
        let error = ServiceError.validation([
            .init(field: "mood_score", message: "must be between 1 and 10"),
            .init(field: "energy_level", message: "7 is too much"),
        ])
        #expect(json(error).contains(#""details":{"mood_score":"Must be between 1 and 10","energy_level":"7 is too much"}"#))
    }

    @Test func `a caller who is not signed in is unauthorized, and the reason says why, as on every other route`() {
        let expired = ServiceError(.unauthenticated, "TOKEN_EXPIRED", "Sign in.")
        #expect(json(expired).contains(#""code":"UNAUTHORIZED","reason":"TOKEN_EXPIRED""#))
        let elsewhere = String(decoding: ErrorEnvelope.json(expired, requestID: "r"), as: UTF8.self)
        #expect(elsewhere.contains(#""code":"TOKEN_EXPIRED","reason":"TOKEN_EXPIRED""#))
        #expect(
            json(ServiceError(.permissionDenied, "ADMIN_ONLY", "No.")).contains(
                #""code":"ADMIN_ONLY","reason":"ADMIN_ONLY","message":"No.","details":{}"#
            )
        )
    }

    @Test func `a challenge says that the token was refused, and nothing of one that was not sent`() {
        func challenge(_ reason: String, _ message: String) -> String {
            ErrorEnvelope.challenge(ServiceError(.unauthenticated, reason, message))
        }
        for reason in ["TOKEN_EXPIRED", "INVALID_TOKEN", "SESSION_REVOKED"] {
            let header = challenge(reason, "It has ended: refresh it.")
            #expect(header == #"Bearer error="invalid_token", error_description="It has ended: refresh it.", realm="api""#)
        }
        for reason in ["AUTHENTICATION_REQUIRED", "INVALID_CREDENTIALS", "INVALID_REFRESH_TOKEN", "WEBHOOK_REFUSED"] {
            #expect(challenge(reason, "No.") == #"Bearer realm="api""#)
        }
        let cleaned = challenge("INVALID_TOKEN", "a \"b\" \\ “c”\n")
        #expect(cleaned.contains(#"error_description="a b  c""#), "without what no header may hold: \(cleaned)")
    }

    @Test func `what is a number in JSON is distinguished from what is none`() {
        for text in ["0", "-1", "12", "0.99", "-0.5", "true", "false"] { #expect(ErrorEnvelope.isLiteral(text), "\(text)") }
        for text in ["", "-", ".5", "1.", "01", "1e3", "1.2.3", "NaN", "+1", "1 ", "null", "2025-10-15"] {
            #expect(!ErrorEnvelope.isLiteral(text), "\(text)")
        }
    }
}
