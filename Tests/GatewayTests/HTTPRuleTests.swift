import Kernel
import Testing
import Tokens

@testable import GatewayService

@Suite("Ranges of bytes")
struct ByteRangeTests {
    @Test(
        arguments: [
            (nil, 10, ByteRange.whole), ("", 10, .whole), ("bytes=0-", 10, .part(0..<10)), ("bytes=0-0", 10, .part(0..<1)),
            ("bytes=3-5", 10, .part(3..<6)), ("bytes=3-99", 10, .part(3..<10)), ("bytes=9-", 10, .part(9..<10)),
            ("bytes=10-", 10, .unsatisfiable), ("bytes=10-12", 10, .unsatisfiable), ("bytes=-3", 10, .part(7..<10)),
            ("bytes=-99", 10, .part(0..<10)), ("bytes=-0", 10, .unsatisfiable), ("bytes=5-3", 10, .whole),
            ("bytes=-", 10, .whole),
            ("bytes=a-b", 10, .whole), ("bytes=0-1,3-4", 10, .whole), ("items=0-1", 10, .whole), ("bytes=0-", 0, .unsatisfiable),
            ("bytes=-1", 0, .unsatisfiable), ("bytes=0-9223372036854775807", 10, .part(0..<10)),
            ("bytes=99999999999999999999-", 10, .whole), ("bytes=--1", 10, .whole), ("bytes=1--1", 10, .whole),
            ("bytes=+1-2", 10, .whole), ("bytes=0-9223372036854775806", 10, .part(0..<10)),
        ] as [(String?, Int64, ByteRange)]
    ) func `as RFC 9110 reads them`(header: String?, size: Int64, expected: ByteRange) {
        #expect(ByteRange.parse(header, size: size) == expected)
    }
}

@Suite("Revocations")
struct RevocationTests {
    private let start = Instant(seconds: 1_700_000_000)

    private func token(_ session: UInt64, issued: Instant) -> AccessToken {
        AccessToken(
            userID: UserID(high: 0, low: 1),
            sessionID: SessionID(high: 0, low: session),
            email: "",
            role: .user,
            issuedAt: issued,
            expiresAt: issued + .minutes(15)
        )
    }

    @Test func `of a session refuse its tokens and no others`() {
        let revocations = Revocations()
        #expect(!revocations.contains(token(1, issued: start)))
        revocations.add([SessionID(high: 0, low: 1)])
        #expect(revocations.contains(token(1, issued: start - .minutes(3))))
        #expect(!revocations.contains(token(2, issued: start - .minutes(3))))
    }

    @Test func `are kept while a token they refuse could live, and no longer`() {
        let (revocations, now) = (Revocations(), ContinuousClock.now)
        revocations.add([SessionID(high: 0, low: 1)], now: now)
        let other = SessionID(high: 0, low: 9)
        revocations.add([other], now: now + .seconds(15 * 60))
        #expect(revocations.contains(token(1, issued: start)))
        revocations.add([other], now: now + .seconds(21 * 60))
        #expect(!revocations.contains(token(1, issued: start)))
        #expect(revocations.contains(token(9, issued: start)))
    }
}
