import TestSupport
import Testing

/// PF-5: a client that asks too often is refused, and no other notices.
struct RateLimitTests {
    private func number(_ name: String, _ reply: HTTPReply) throws -> Int {
        try #require(reply.header(name).flatMap { Int($0) }, "\(name): \(reply.text)")
    }

    @Test func `a user who asks too often is refused until the time in the reply, others are not`() async throws {
        let home = try await Installation(rates: (user: 2, address: 0))
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        let first = try await ann.get("/api/streaks")
        #expect(first.status == 200)
        #expect(try number("RateLimit-Limit", first) == 20)
        let left = try number("RateLimit-Remaining", first)
        #expect(left < 20)
        var refused: HTTPReply?
        for _ in 0..<60 where refused == nil {
            let reply = try await ann.get("/api/streaks")
            if reply.status != 200 { refused = reply }
        }
        let refusal = try #require(refused, "never refused")
        #expect(refusal.status == 429 && refusal.code == "RATE_LIMITED", "\(refusal.text)")
        #expect(try number("RateLimit-Remaining", refusal) == 0)
        #expect((1...10).contains(try number("Retry-After", refusal)))
        #expect((1...11).contains(try number("RateLimit-Reset", refusal)))
        #expect(try await ben.get("/api/streaks").status == 200)
        #expect(try await home.call("GET", "/api/health").status == 200)
        try await eventually("it goes on by itself") { try await ann.get("/api/streaks").status == 200 }
        await home.guardian.end()
    }

    @Test func `an address that floods is refused, also without a token and where there is no route`() async throws {
        let home = try await Installation(rates: (user: 0, address: 5))
        for path in ["/api/users/me", "/api/nothing/here"] {
            var statuses: Set<Int> = []
            for _ in 0..<120 where !statuses.contains(429) { statuses.insert(try await home.call("GET", path).status) }
            #expect(statuses.contains(429), "\(path): \(statuses)")
        }
        #expect(try await home.call("GET", "/healthz").status == 200, "the balancer's questions are free")
        await home.guardian.end()
    }
}
