import Kernel
import TestSupport
import Testing

@Suite struct RecentlyUsedTests {
    @Test(arguments: UInt64(1)...50) func `keeps what was used lately, and never more than it may`(seed: UInt64) {
        var random = Seeded(seed)
        let capacity = Int.random(in: 1...20, using: &random)
        let kept = RecentlyUsed<Int, Int>(capacity: capacity)
        var values: [Int: Int] = [:]
        var uses: [Int] = []
        for step in 0..<500 {
            let key = Int.random(in: 0..<40, using: &random)
            if random.chance(50) {
                kept[key] = step
                values[key] = step
                uses.append(key)
            } else if let value = kept[key] {
                #expect(value == values[key], "the newest value, or none")
                uses.append(key)
            } else {
                #expect(!uses.suffix((capacity + 1) / 2).contains(key), "among the last half of its capacity")
            }
        }
        let found = (0..<40).filter { kept[$0] != nil }
        #expect(found.count <= capacity + 1, "looking brings nothing back")
    }

    @Test func `of no capacity keeps nothing`() {
        let kept = RecentlyUsed<Int, Int>(capacity: 0)
        kept[1] = 1
        #expect(kept[1] == nil)
    }
}
