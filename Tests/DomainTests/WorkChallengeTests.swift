import AuthDomain
import Kernel
import Testing

/// Challenges of proof of work as they are written and judged.
@Suite struct WorkChallengeTests {
    private let now = Instant(microseconds: 1_800_000_000_400_000)

    @Test func `zero bits are counted from the first byte on`() {
        let cases: [([UInt8], Int)] = [
            ([], 0), ([0x80], 0), ([0x7F, 0xFF], 1), ([0x01], 7), ([0, 0x10], 11), ([0, 0, 0, 1], 31), ([0, 0], 16),
        ]
        for (bytes, count) in cases { #expect(WorkChallenge.zeroBits(bytes) == count, "\(bytes)") }
    }

    @Test func `a challenge is written and read, and nothing else is read as one`() {
        let challenge = WorkChallenge(bits: 18, id: "abc-_9", now: now)
        #expect(challenge.text == "18.1800000300.abc-_9")
        #expect(WorkChallenge(text: challenge.text) == challenge)
        for wrong in [
            "", "18", "18.1800000300", "18.1800000300.", "18.1800000300.a.b", "7.1800000300.a", "29.1800000300.a",
            "x.1800000300.a", "18.soon.a", "18.99999999999999999999.a", "..",
        ] { #expect(WorkChallenge(text: wrong) == nil, "\(wrong)") }
    }

    @Test func `a solution is taken for five minutes, from the asked number of zero bits on`() {
        let challenge = WorkChallenge(bits: 12, id: "a", now: now)
        let (enough, tooFew): ([UInt8], [UInt8]) = ([0, 0x0F, 0xFF], [0, 0x1F, 0xFF])
        #expect(challenge.isSolved(by: enough, now: now) && !challenge.isSolved(by: tooFew, now: now))
        #expect(challenge.isSolved(by: enough, now: now + .seconds(299)))
        #expect(!challenge.isSolved(by: enough, now: now + .minutes(5)))
    }
}
