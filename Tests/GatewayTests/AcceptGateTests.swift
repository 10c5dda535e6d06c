import Testing

@testable import GatewayService

/// When connections are accepted, as a trace of what happens to them.
struct AcceptGateTests {
    private final class Connection {}

    /// A gate that an expectation may change.
    private final class Trace {
        private(set) var gate: AcceptGate

        init(most: Int) { gate = AcceptGate(most: most) }

        func mayAccept() -> Bool { gate.mayAccept() }
        func accepted(_ connection: Connection) { gate.accepted(ObjectIdentifier(connection)) }
        func settled(_ connection: Connection) { gate.settled(ObjectIdentifier(connection)) }
        func closed(_ connection: Connection) -> Bool { gate.closed(ObjectIdentifier(connection)) }
        func shut() { gate.shut() }
    }

    @Test func `no more than the most are open, and one that closes lets the next in`() {
        let (gate, first, second, third) = (Trace(most: 2), Connection(), Connection(), Connection())
        #expect(gate.mayAccept())
        gate.accepted(first)
        #expect(gate.mayAccept())
        gate.accepted(second)
        #expect(!gate.mayAccept())
        #expect(gate.closed(first), "the next is asked for")
        #expect(!gate.closed(second), "once")
        #expect(gate.mayAccept())
        gate.accepted(third)
        #expect(!gate.closed(third), "nothing had to wait")
    }

    @Test func `the socket is closed when every connection that was accepted has its handlers, and not before`() {
        let (gate, first, second) = (Trace(most: 9), Connection(), Connection())
        gate.accepted(first)
        gate.settled(first)
        gate.accepted(second)
        #expect(!gate.gate.canClose)
        gate.shut()
        #expect(!gate.mayAccept() && !gate.gate.canClose, "the second would be lost")
        gate.settled(second)
        #expect(gate.gate.canClose)
    }

    @Test func `a connection that closes before it has its handlers holds up nothing`() {
        let (gate, first) = (Trace(most: 1), Connection())
        gate.accepted(first)
        #expect(!gate.mayAccept())
        gate.shut()
        #expect(!gate.closed(first), "no more are asked for")
        #expect(gate.gate.canClose)
    }
}
