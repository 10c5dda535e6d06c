import Kernel
import Testing

@testable import GatewayService

@Suite("A rate limit")
struct RateLimitTests {
    private let second: Int64 = 1_000_000_000

    @Test func `allows a burst, then its rate, and says when to come again`() {
        var limit = RateLimit<Int>(perSecond: 2, burst: 4)
        for remaining in [3, 2, 1, 0] {
            let verdict = limit.ask(1, now: 0)
            #expect(verdict.isAllowed && verdict.remaining == remaining)
            #expect(verdict.limit == 4 && verdict.retryAfter == 0)
        }
        let refusal = limit.ask(1, now: 0)
        #expect(refusal == .init(isAllowed: false, limit: 4, remaining: 0, reset: 2, retryAfter: 1))
        #expect(!limit.ask(1, now: second / 2 - 1).isAllowed)
        #expect(limit.ask(1, now: second / 2).isAllowed)
        #expect(!limit.ask(1, now: second / 2).isAllowed)
        #expect(limit.ask(1, now: 100 * second).remaining == 3, "who was quiet has the whole burst again")
    }

    @Test func `keeps callers apart`() {
        var limit = RateLimit<Int>(perSecond: 1, burst: 1)
        #expect(limit.ask(1, now: 0).isAllowed)
        #expect(!limit.ask(1, now: 0).isAllowed)
        #expect(limit.ask(2, now: 0).isAllowed)
    }

    @Test func `counts a costly request as several, and never makes one impossible`() {
        var limit = RateLimit<Int>(perSecond: 1, burst: 10)
        #expect(limit.ask(1, cost: 7, now: 0).remaining == 3)
        let refusal = limit.ask(1, cost: 5, now: 0)
        #expect(!refusal.isAllowed && refusal.remaining == 3 && refusal.retryAfter == 2)
        #expect(limit.ask(1, cost: 3, now: 0).isAllowed, "a refusal costs nothing")
        #expect(limit.ask(2, cost: 500, now: 0).isAllowed)
    }

    @Test(arguments: 1...20) func `never allows more than burst + rate × time, whatever the pattern`(seed: Int) {
        var random = Dice(seed)
        let (rate, burst) = (random.roll(20) + 1, random.roll(50) + 1)
        var limit = RateLimit<Int>(perSecond: rate, burst: burst)
        var now: Int64 = 0
        var allowed = 0
        for _ in 0..<3_000 {
            now += Int64(random.roll(100)) * 1_000_000
            if limit.ask(7, now: now).isAllowed { allowed += 1 }
            let most = Double(burst) + Double(rate) * Double(now) / 1e9 + 1
            #expect(Double(allowed) <= most)
        }
    }

    @Test func `gives what it promises to who always asks`() {
        var limit = RateLimit<Int>(perSecond: 7, burst: 30)
        let allowed = (0..<60_000).filter { limit.ask(1, now: Int64($0) * 1_000_000).isAllowed }.count
        #expect(449...450 ~= allowed, "30 at once and 7 a second for a minute: \(allowed)")
    }

    @Test func `remembers a bounded number of callers, and none that is at rest`() {
        var limit = RateLimit<Int>(perSecond: 1, burst: 2, mostCallers: 1_000)
        for _ in 0..<2 { _ = limit.ask(-1, now: 0) }
        for caller in 0..<5_000 { _ = limit.ask(caller, now: 0) }
        #expect(limit.count <= 1_000)
        #expect(!limit.ask(-1, now: 0).isAllowed, "the client that used most is not dropped")
        _ = limit.ask(0, now: 100 * second)
        #expect(limit.count == 1)
    }
}

@Suite("The limits of a gateway")
struct RateLimitsTests {
    @Test func `take an IPv6 network for one caller, and an IPv4 address for itself`() {
        let limits = RateLimits(userRate: 0, addressRate: 1)
        func left(_ text: String) -> Int? { limits.ask(address: IPAddress(text), cost: 1)?.remaining }
        #expect(left("2001:db8::1") == 9)
        #expect(left("2001:db8::ffff:2") == 8)
        #expect(left("2001:db8:0:1::1") == 9)
        #expect(left("192.0.2.1") == 9)
        #expect(left("192.0.2.2") == 9)
        #expect(left("::ffff:192.0.2.1") == 8)
        #expect(limits.ask(address: nil, cost: 1) == nil)
        #expect(limits.ask(user: UserID(high: 1, low: 1), cost: 1) == nil, "0 means no limit")
    }
}
