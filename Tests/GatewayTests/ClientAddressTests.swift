import Kernel
import Testing

@testable import GatewayService

struct ClientAddressTests {
    private func client(_ trusted: String, peer: String, _ forwardedFor: [String] = []) throws -> String? {
        try ClientAddresses(trusted: trusted).client(peer: IPAddress(peer), forwardedFor: forwardedFor)?.description
    }

    @Test func `no proxy is believed unless trusted`() throws {
        #expect(try client("", peer: "192.0.2.7", ["203.0.113.1"]) == "192.0.2.7")
        #expect(try client("10.0.0.0/8", peer: "192.0.2.7", ["203.0.113.1"]) == "192.0.2.7")
        #expect(try ClientAddresses(trusted: "10.0.0.0/8").client(peer: nil, forwardedFor: ["203.0.113.1"]) == nil)
    }

    @Test func `a trusted proxy is believed about its own client, and a chain of them to its end`() throws {
        #expect(try client("10.0.0.0/8", peer: "10.1.2.3", ["198.51.100.9, 203.0.113.1"]) == "203.0.113.1")
        #expect(try client("10.0.0.0/8, ::1", peer: "::1", ["198.51.100.9,203.0.113.1", "10.9.9.9"]) == "203.0.113.1")
        #expect(try client("10.0.0.0/8", peer: "::ffff:10.1.2.3", ["2001:DB8::1"]) == "2001:db8:0:0:0:0:0:1")
        #expect(try client("10.0.0.0/8", peer: "10.1.2.3") == "10.1.2.3")
        #expect(try client("10.0.0.0/8", peer: "10.1.2.3", ["203.0.113.1, unknown"]) == "10.1.2.3")
    }

    @Test func `before its request is known a connection is its address's, unless it is a trusted proxy's`() throws {
        let addresses = try ClientAddresses(trusted: "10.0.0.0/8")
        #expect(addresses.holder(of: IPAddress("192.0.2.7"))?.description == "192.0.2.7")
        #expect(addresses.holder(of: IPAddress("2001:db8::1:2:3:4")) == IPAddress("2001:db8::"))
        #expect(addresses.holder(of: IPAddress("10.1.2.3")) == nil && addresses.holder(of: nil) == nil)
    }

    @Test func `what is no address is no setting`() {
        for text in ["proxy", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.1/", "/8"] {
            #expect(throws: (any Error).self) { try ClientAddresses(trusted: text) }
        }
    }
}
