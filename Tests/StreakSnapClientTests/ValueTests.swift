import Foundation
import Testing

@testable import StreakSnapClient

struct ValueTests {
    /// Numbers that are the same in each run.
    private struct Dice {
        var state: UInt64
        mutating func next(_ bound: Int64) -> Int64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int64(state >> 1) % bound
        }
    }

    @Test(arguments: 1...20) func `instants come back from their texts`(_ seed: UInt64) {
        var dice = Dice(state: seed)
        for _ in 0..<500 {
            // 1900 to 2200, to the microsecond.
            let micros = dice.next(9_467_085_600_000_000) - 2_208_988_800_000_000
            let date = Date(timeIntervalSince1970: Double(micros) / 1_000_000)
            let text = Timestamp.text(date)
            let back = Timestamp.date(text)
            #expect(abs((back?.timeIntervalSince(date) ?? 1)) < 0.000_002, "\(text)")
        }
    }

    @Test(arguments: [
        ("2026-01-02T03:04:05Z", 1_767_323_045.0), ("2026-01-02t04:04:05.250+01:00", 1_767_323_045.25),
        ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59.5Z", -0.5), ("2024-02-29T00:00:00-00:30", 1_709_166_600),
    ]) func `instants are read as RFC 3339 says`(_ text: String, _ seconds: Double) {
        #expect(Timestamp.date(text)?.timeIntervalSince1970 == seconds)
    }

    @Test(arguments: [
        "", "2026-01-02", "2026-02-30T00:00:00Z", "2026-01-02T03:04:05", "2026-01-02T25:00:00Z", "2026-01-02T03:04:05.Z",
    ])
    func `what is no instant is none`(_ text: String) { #expect(Timestamp.date(text) == nil) }

    @Test func `every date of eight centuries comes back from its number`() throws {
        var date = try #require(CalendarDate(text: "1600-01-01"))
        for _ in 0..<292_194 {
            let next = try #require(date.advanced(by: 1))
            try #require(date < next && date.days(until: next) == 1 && CalendarDate(text: next.description) == next)
            date = next
        }
        #expect(date.description == "2400-01-01")
        #expect(CalendarDate(text: "2023-02-29") == nil)
        #expect(CalendarDate(text: "2023-2-09") == nil)
    }

    @Test func `values are written without what is unset, and read with anything missing`() throws {
        let snap = Media.Snap(id: "s", userID: "u", caption: "c", capturedAt: Date(timeIntervalSince1970: 0))
        let coder = JSONEncoder()
        coder.outputFormatting = .sortedKeys
        let text = String(decoding: try coder.encode(snap), as: UTF8.self)
        #expect(text == #"{"caption":"c","captured_at":"1970-01-01T00:00:00Z","id":"s","user_id":"u"}"#)
        #expect(try JSONDecoder().decode(Media.Snap.self, from: Data(text.utf8)) == snap)
    }

    @Test func `an enum's unknown value is kept, also one that is a number`() throws {
        let values = try JSONDecoder().decode([Billing.Plan].self, from: Data(#"["free","platinum",7]"#.utf8))
        #expect(values == [.free, Billing.Plan(rawValue: "platinum"), Billing.Plan(rawValue: "7")])
        #expect(String(decoding: try JSONEncoder().encode(values), as: UTF8.self) == #"["free","platinum","7"]"#)
    }

    @Test(arguments: 1...12) func `pauses grow to a bound, and are never beyond the deadline`(_ attempt: Int) throws {
        let policy = RetryPolicy(attempts: 100)
        let error = StreakSnapError(kind: .network, message: "")
        for random in [0, 0.25, 0.999] {
            let pause = try #require(policy.pause(after: error, attempt: attempt, random: random, remaining: .seconds(600)))
            #expect(pause >= .zero && pause <= policy.most && pause <= policy.base * (1 << (attempt - 1)))
            #expect(policy.pause(after: error, attempt: attempt, random: random, remaining: pause) == nil)
        }
        #expect(RetryPolicy.never.pause(after: error, attempt: 1, random: 0, remaining: .seconds(600)) == nil)
    }

    @Test(arguments: [
        (400, "VALIDATION_ERROR", false), (404, "NOT_FOUND", false), (409, "REQUEST_IN_PROGRESS", true),
        (409, "ALREADY_FRIENDS", false),
        (429, "RATE_LIMITED", true), (500, "INTERNAL", true), (501, "UNIMPLEMENTED", false), (503, "UNAVAILABLE", true),
        (504, "DEADLINE_EXCEEDED", true), (401, "SESSION_REVOKED", false),
    ]) func `only what may pass is tried again`(_ status: Int, _ code: String, _ isTransient: Bool) {
        let error = StreakSnapError(kind: .refused, code: ErrorCode(rawValue: code), message: "", status: status)
        #expect(error.isTransient == isTransient)
    }
}
