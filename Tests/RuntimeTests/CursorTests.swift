import Kernel
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime

/// Any bytes where a position should be: what a user could make who computes the checksum.
private struct RawPosition: CursorPosition {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
    init?(bytes: ArraySlice<UInt8>) { self.init(Array(bytes)) }
}

/// Cursors of lists (PF-3): what was given out is read back by the same list for the same user, and no other text is anything but refused.
struct CursorTests {
    private struct Thing {}

    private static let ann = UserID(high: 0x0190_0000_0000_7000, low: 1)
    private static let ben = UserID(high: 0x0190_0000_0000_7000, low: 2)
    private let scope = CursorScope("test.List", of: ann, filters: ["incoming"])

    private static let instants: [Instant] = [
        Instant.writable.lowerBound, Instant(microseconds: -1), .epoch, Instant(microseconds: 1),
        Instant(seconds: 1_780_000_000), Instant.writable.upperBound,
    ]

    private func positions(_ random: inout Seeded) -> [PageCursor] {
        let range = Instant.writable.lowerBound.microseconds...Instant.writable.upperBound.microseconds
        let some = (0..<500).map { _ in Instant(microseconds: Int64.random(in: range, using: &random)) }
        return (Self.instants + some).map { PageCursor(after: $0, ID<Thing>(high: random.next(), low: random.next())) }
    }

    private func refusal(_ text: String, _ scope: CursorScope? = nil) -> ServiceError? {
        do {
            _ = try (scope ?? self.scope).position(in: text, as: PageCursor.self)
            return nil
        } catch { return error }
    }

    private func isRefused(_ text: String, _ scope: CursorScope? = nil) -> Bool {
        let error = refusal(text, scope)
        return error?.reason == "VALIDATION_ERROR" && error?.details.map(\.field) == ["cursor"]
    }

    @Test func `a position comes back as it was sent, in text that fits a URL`() throws {
        var random = Seeded(1)
        for position in positions(&random) {
            let text = scope.text(after: position)
            #expect(try scope.position(in: text) == position)
            #expect(text.count == 55 && text.utf8.allSatisfy { $0 != 43 && $0 != 47 && $0 != 61 })
        }
        for date in ["0001-01-01", "1969-12-31", "2026-05-01", "9999-12-31"].compactMap({ CalendarDate($0) }) {
            #expect(try scope.position(in: scope.text(after: date)) == date)
        }
        #expect(try scope.position(in: "", as: PageCursor.self) == nil)
    }

    @Test func `whatever is changed, cut off or added, it is refused`() throws {
        var random = Seeded(2)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. %\u{0}\u{301}é")
        for position in positions(&random) {
            let text = scope.text(after: position)
            for _ in 0..<40 {
                var changed = Array(text)
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let index = Int.random(in: 0..<changed.count, using: &random)
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: changed[index] = random.pick(alphabet)
                    case 1: changed.remove(at: index)
                    case 2: changed.insert(random.pick(alphabet), at: index)
                    default: changed.swapAt(index, Int.random(in: 0..<changed.count, using: &random))
                    }
                }
                guard String(changed) != text else { continue }
                #expect(isRefused(String(changed)), "\(text) → \(String(changed))")
            }
            // Each bit of the bytes, also of the version and of the checksum.
            let bytes = try #require(Base64URL.decode(text))
            let bit = Int.random(in: 0..<bytes.count * 8, using: &random)
            var changed = bytes
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(isRefused(Base64URL.encode(changed)))
        }
    }

    @Test func `another list's, another user's and another filter's cursor are refused`() {
        let position = PageCursor(after: Instant(seconds: 1_780_000_000), ID<Thing>(high: 1, low: 2))
        let scopes = [
            scope, CursorScope("test.Other", of: Self.ann, filters: ["incoming"]),
            CursorScope("test.List", of: Self.ben, filters: ["incoming"]),
            CursorScope("test.List", of: Self.ann, filters: ["outgoing"]), CursorScope("test.List", of: Self.ann),
            CursorScope("test.List", of: Self.ann, filters: [""]),
            CursorScope("test.List", of: Self.ann, filters: ["incoming", ""]),
            CursorScope("test.List", of: Self.ann, filters: ["", "incoming"]),
            CursorScope("test.List", of: Self.ann, filters: ["in", "coming"]),
            CursorScope("test.Listincoming", of: Self.ann),
        ]
        for (giver, giving) in scopes.enumerated() {
            for (reader, reading) in scopes.enumerated() {
                #expect(isRefused(giving.text(after: position), reading) == (giver != reader), "\(giver) → \(reader)")
            }
        }
    }

    @Test func `a right checksum does not make a position that the database cannot hold`() {
        func bytes(_ instant: Int64) -> [UInt8] {
            withUnsafeBytes(of: instant.bigEndian) { Array($0) } + [UInt8](repeating: 0xFF, count: 16)
        }
        let first = Instant.writable.lowerBound.microseconds
        let last = Instant.writable.upperBound.microseconds
        for instant in [Int64.min, .min + 1, first - 1, last + 1, .max - 1, .max, -211_813_488_000_000_001] {
            #expect(isRefused(scope.text(after: RawPosition(bytes(instant)))), "\(instant)")
        }
        for instant in [first, last] { #expect(refusal(scope.text(after: RawPosition(bytes(instant)))) == nil) }
        var random = Seeded(3)
        for count in 0...120 where count != 24 {
            #expect(isRefused(scope.text(after: RawPosition((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }))))
        }
        let days: [Int64] = [.min, .max, Int64(Int32.max), Int64(Int32.min), Int64(Int32.max) + 1, -719_163, 2_932_897]
        for day in days {
            let text = scope.text(after: RawPosition(withUnsafeBytes(of: day.bigEndian) { Array($0) }))
            #expect(throws: ServiceError.self, "\(day)") { try scope.position(in: text, as: CalendarDate.self) }
        }
        // A place in another kind of list.
        #expect(isRefused(scope.text(after: CalendarDate(dayNumber: 20_000))))
    }

    @Test(
        arguments: [
            "x", "????", "AAAA", String(repeating: "A", count: 32), "gAAAAAAA" + String(repeating: "A", count: 24),
            String(repeating: "A", count: 33), "é", "AAAA AAAA", String(repeating: "A", count: 700), "2026-05-01", "0", "null",
            "AQ", "\u{0}",
            String(repeating: "A", count: 55), "AQ" + String(repeating: "_", count: 53),
            String(repeating: "\u{1F600}", count: 100_000),
        ]
    ) func `garbage is no cursor`(text: String) {
        #expect(isRefused(text))
    }
}
