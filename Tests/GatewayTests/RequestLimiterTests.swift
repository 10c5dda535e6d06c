import Kernel
import Testing

@testable import GatewayService

/// How many requests are served at once.
struct RequestLimiterTests {
    private static let (ada, ben) = (IPAddress("192.0.2.1"), IPAddress("192.0.2.2"))

    @Test func `bodies that are still arriving take no place of requests that run`() throws {
        let limiter = RequestLimiter(limit: 2, isShared: false)
        let bodies = (0..<3).map { _ in limiter.enter(arrivingFrom: Self.ada) }
        #expect(bodies == [.arriving(Self.ada), .arriving(Self.ada), nil])
        let running = (0..<3).map { _ in limiter.enter() }
        #expect(running == [.running, .running, nil])
        limiter.leave(.running)
        limiter.leave(try #require(bodies[0]))
        #expect(limiter.enter() != nil && limiter.enter(arrivingFrom: Self.ben) != nil)
    }

    @Test func `a body that has arrived needs a place of those that run, and gives its own back`() {
        let limiter = RequestLimiter(limit: 1, isShared: false)
        var place = limiter.enter(arrivingFrom: Self.ada)
        let other = limiter.enter()
        #expect(!limiter.arrived(&place) && place == .arriving(Self.ada))
        #expect(limiter.enter(arrivingFrom: Self.ben) == nil, "it still has its place")
        if let other { limiter.leave(other) }
        #expect(limiter.arrived(&place) && place == .running)
        #expect(limiter.arrived(&place), "what runs already changes nothing")
        #expect(limiter.enter() == nil && limiter.enter(arrivingFrom: Self.ben) != nil)
    }

    @Test(arguments: [(800, 100), (64, 16), (16, 16), (4, 4)])
    func `one address has an eighth of the places of bodies, when that is enough`(limit: Int, share: Int) {
        let limiter = RequestLimiter(limit: limit, isShared: true)
        for _ in 0..<share { #expect(limiter.enter(arrivingFrom: Self.ada) != nil) }
        #expect(limiter.enter(arrivingFrom: Self.ada) == nil)
        #expect((limiter.enter(arrivingFrom: Self.ben) != nil) == (share < limit))
        limiter.leave(.arriving(Self.ada))
        #expect(limiter.enter(arrivingFrom: Self.ada) != nil)
    }

    @Test func `an IPv6 client counts as its network`() {
        let limiter = RequestLimiter(limit: 800, isShared: true)
        let places = (0..<101).map { limiter.enter(arrivingFrom: IPAddress("2001:db8::\($0 + 1)")) }
        #expect(places.filter { $0 != nil }.count == 100)
        #expect(limiter.enter(arrivingFrom: IPAddress("2001:db8:0:1::1")) != nil)
        for place in places { if let place { limiter.leave(place) } }
        #expect(limiter.enter(arrivingFrom: IPAddress("2001:db8::1")) != nil)
    }
}
