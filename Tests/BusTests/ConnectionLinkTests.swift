import Kernel
import Testing

@testable import Bus

/// Reads like a protocol: each line an event and what must be done.
@Suite struct ConnectionLinkTests {
    private typealias Link = ConnectionLink<String>

    private func at(_ milliseconds: UInt64) -> Tick { Tick(nanoseconds: milliseconds * 1_000_000) }

    private func established() -> Link {
        var link = Link()
        #expect(link.adopt("first").text == "use 1")
        #expect(link.settle(isOpen: true, isConnected: true, now: at(1)) == .done)
        return link
    }

    @Test func `one that is lost is replaced by who reports it`() {
        var link = established()
        #expect(link.lost() == true)
        #expect(link.lost() == false, "another attempt is under way")
        #expect(link.adopt("second").text == "use 2 instead of first")
        #expect(link.lost() == false, "it ended while the subscriptions were attached: settle notices")
        #expect(link.settle(isOpen: false, isConnected: false, now: at(5)) == .dialAgain)
        #expect(link.adopt("third").text == "use 3 instead of second")
        #expect(link.settle(isOpen: true, isConnected: true, now: at(6)) == .done)
        #expect(link.handle == "third" && link.generation == 3)
        #expect(link.lost() == true, "and may be lost again")
    }

    @Test func `the first connection has only one dialer too`() {
        var link = Link()
        #expect(link.lost() == false)
        #expect(link.adopt("first").text == "use 1")
        #expect(link.lost() == false)
        #expect(link.settle(isOpen: false, isConnected: false, now: at(1)) == .dialAgain)
    }

    @Test func `what is made after the end is discarded`() {
        var link = established()
        #expect(link.lost() == true)
        #expect(link.close() == "first")
        #expect(link.adopt("second").text == "discard")
        #expect(link.handle == nil && link.isClosed)
        #expect(link.close() == nil)
        #expect(link.lost() == false)
    }

    @Test func `the end may come while subscriptions are attached`() {
        var link = established()
        #expect(link.lost() == true)
        #expect(link.adopt("second").text == "use 2 instead of first")
        #expect(link.close() == "second", "closing the bus closes the new connection")
        #expect(link.settle(isOpen: true, isConnected: true, now: at(5)) == .stop)
    }

    @Test func `it heals for a while after a reconnect`() {
        var link = established()
        func isHealing(_ now: UInt64) -> Bool { link.isHealing(now: at(now), grace: .milliseconds(100)) }
        #expect(!isHealing(2), "the first connection is no reconnect")
        link.disconnected()
        #expect(isHealing(10_000))
        link.reconnected(now: at(10_000))
        #expect(isHealing(10_099) && !isHealing(10_100))
        #expect(link.lost() == true)
        #expect(link.adopt("second").text == "use 2 instead of first")
        #expect(link.settle(isOpen: true, isConnected: false, now: at(20_000)) == .done)
        #expect(isHealing(90_000), "it was disconnected before it was used")
        link.reconnected(now: at(90_000))
        #expect(!isHealing(90_100))
    }
}

extension ConnectionLink.Adoption where Handle == String {
    fileprivate var text: String {
        switch self {
        case .discard: "discard"
        case .use(let generation, let old): "use \(generation)" + (old.map { " instead of \($0)" } ?? "")
        }
    }
}
