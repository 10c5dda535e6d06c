import Kernel
import Testing

@testable import MediaCore

/// What who has not accepted the terms is answered (AU-9).
struct TermsTests {
    @Test func `the refusal names the request that mends it, with the version in force`() {
        let error = Terms.refusal(version: "2026-01")
        #expect(error.code == .failedPrecondition && error.reason == "TERMS_NOT_ACCEPTED")
        #expect(error.message.contains(#"POST /api/users/me/terms {"version": "2026-01"}."#), "\(error.message)")
        #expect(error.details.map(\.message) == ["POST /api/users/me/terms", "2026-01"])
    }

    @Test func `where no version is in force, it says which one is meant`() {
        let error = Terms.refusal(version: "")
        #expect(error.message.hasSuffix("with the version that your app shows."), "\(error.message)")
        #expect(error.details.map(\.field) == ["route", "version"])
    }
}
