import Kernel
import TestSupport
import Testing

@Suite("An id")
struct IDTests {
    private enum Thing {}

    @Test(arguments: 0..<16 as Range<UInt64>) func `is written as its 32 digits in five groups, and read back, whatever its bits`(
        seed: UInt64
    ) {
        var random = Seeded(seed)
        let edges: [UInt64] = [0, .max, 0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210, 0x9A9A_9A9A_A9A9_A9A9]
        let halves = edges + (0..<500).map { _ in random.next() }
        for high in halves.prefix(40) {
            for low in halves {
                let id = ID<Thing>(high: high, low: low)
                let digits = [high, low].map {
                    String(repeating: "0", count: 16 - String($0, radix: 16).count) + String($0, radix: 16)
                }
                let (first, second) = (Array(digits[0]), Array(digits[1]))
                let text = [first[..<8], first[8..<12], first[12...], second[..<4], second[4...]].map { String($0) }.joined(
                    separator: "-"
                )
                #expect(id.description == text)
                #expect(ID<Thing>(text) == id)
            }
        }
    }
}
