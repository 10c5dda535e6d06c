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

    @Test func `many keys looked up at once are what they are one by one, and count as used`() {
        let kept = RecentlyUsed<Int, Int>(capacity: 4)
        for key in 1...3 { kept[key] = 10 * key }
        #expect(kept.values(of: [3, 7, 1, 3]) == [30, nil, 10, 30])
        #expect(kept.values(of: []) == [])
        kept[4] = 40
        #expect(kept.values(of: [1, 4]) == [10, 40], "1 and 4 were the last two")
    }

    @Test func `of no capacity keeps nothing`() {
        let kept = RecentlyUsed<Int, Int>(capacity: 0)
        kept[1] = 1
        #expect(kept[1] == nil)
    }
}
