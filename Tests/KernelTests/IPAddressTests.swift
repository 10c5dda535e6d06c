import Kernel
import Testing

@Suite("IP addresses")
struct IPAddressTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("::", "0:0:0:0:0:0:0:0"), ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:DB8::8:800:200C:417A", "2001:db8:0:0:8:800:200c:417a"), ("1::", "1:0:0:0:0:0:0:0"),
        ("::ffff:192.0.2.1", "192.0.2.1"), ("::FFFF:c000:0201", "192.0.2.1"),
        ("64:ff9b::192.0.2.1", "64:ff9b:0:0:0:0:c000:201"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
    ]) func `are read in every form`(text: String, canonical: String) {
        #expect(IPAddress(text)?.description == canonical)
        #expect(IPAddress(canonical)?.description == canonical)
    }

    @Test(arguments: [
        "", ".", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "1.2.3.4 ", "a.b.c.d", ":", ":::", "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "12345::", "::1::", "g::", "1:2:3:4:5:6:7::8", "::1.2.3", "[::1]", "fe80::1%eth0", "+1::", "1.2.3.4::", "-1.2.3.4",
        "1,2,3,4",
    ]) func `are nothing else`(text: String) { #expect(IPAddress(text) == nil) }

    @Test func `lie in ranges`() throws {
        let range = try #require(IPRange("10.32.0.0/11"))
        for (text, isInside) in [
            ("10.32.0.0", true), ("10.63.255.255", true), ("10.64.0.0", false), ("10.31.255.255", false), ("::a20:0", false),
        ] {
            #expect(IPAddress(text).map { range.contains($0) } == isInside, "\(text)")
        }
        let (other, neighbour) = (try #require(IPAddress("203.0.113.9")), try #require(IPAddress("::2")))
        #expect(IPRange("0.0.0.0/0")?.contains(other) == true)
        #expect(IPRange("::1")?.contains(neighbour) == false)
        #expect(IPAddress("2001:db8:1:2:3:4:5:6")?.network(bits: 64).description == "2001:db8:1:2:0:0:0:0")
        #expect(
            IPAddress("127.9.9.9")?.isLoopback == true && IPAddress("::1")?.isLoopback == true
                && IPAddress("::2")?.isLoopback == false
        )
    }
}
