import Kernel
import Testing
import Transcoding

@Suite("A body that is not read becomes a field")
struct RawRequestTests {
    private func wire(
        _ body: [UInt8],
        _ headers: [String: String] = [:],
        path: String = "/api/deliveries/shop",
        query: String = ""
    ) throws -> String {
        let (route, values) = try Fixture.route("POST", path)
        return try route.request.read(raw: body, header: { headers[$0] }, path: values, query: query).request().hex
    }

    @Test func `Its bytes are there as they came, whatever they are`() throws {
        let every = (0...255).map { UInt8($0) }
        #expect(try wire(every) == "0a8002" + every.hex + "1204" + Array("shop".utf8).hex)
        #expect(try wire([]) == "1204" + Array("shop".utf8).hex)
        #expect(try wire(Array("{\"unknown\":1}".utf8)).hasPrefix("0a0d7b22"))
    }

    @Test func `The named headers and the query fill other fields`() throws {
        let all = try wire([1], ["x-signature": "t=1,v1=ab", "x-other": "no"], query: "attempt=3")
        #expect(all == "0a0101" + "120473686f70" + "1a09" + Array("t=1,v1=ab".utf8).hex + "2003")
        // A header that does not come leaves its field empty.
        #expect(try wire([1], query: "attempt=3") == "0a0101" + "120473686f70" + "2003")
    }

    @Test(arguments: [
        ("signature=x", "signature: is given by a header"), ("content=eA", "content: is given by the body"),
        ("sender=x", "sender: is given by the path"), ("color=red", "color: is not a known parameter: this takes attempt"),
        ("attempt=x", "attempt: must be a 32-bit integer"),
    ]) func `What is wrong is named`(query: String, expected: String) throws {
        #expect(refusal { try wire([1], query: query) } == [expected])
    }

    @Test func `A header that is no text is a problem of that header`() throws {
        #expect(refusal { try wire([1], ["x-signature": "a\0b"]) }.first?.hasPrefix("x-signature: ") == true)
    }

    @Test func `A stream's fields are no parameters`() throws {
        let (route, values) = try Fixture.route("GET", "/api/watch")
        for name in ["last_event_id", "lease_id"] {
            let problems = refusal { try route.request.transcode(body: [], path: values, query: "\(name)=1") }
            #expect(problems == ["\(name): is given by a header"])
        }
    }
}

@Suite("What the gateway and a service say of streams")
struct StreamContractTests {
    @Test func `A page is read, and what is none is none`() throws {
        let event: [UInt8] = [0x0a, 9, 8, 5, 0x12, 1, 0x61, 0x1a, 2, 0x7b, 0x7d]
        let page = try #require(StreamContract.page(event + [0x10, 5]))
        #expect(page == StreamPage(events: [StreamEvent(id: 5, name: "a", data: "{}")], lastID: 5))
        #expect(StreamContract.page([]) == StreamPage(events: [], lastID: 0))
        for broken: [UInt8] in [[0x0a], [0x0a, 5, 1], [0x08, 0xff], [0x0a, 2, 0x12, 9]] {
            #expect(StreamContract.page(broken) == nil, "\(broken)")
        }
    }

    @Test func `Requests and renewals have their wire form`() {
        #expect(StreamContract.request(lastEventID: "7", lease: "ab").hex == "0a013712026162")
        #expect(StreamContract.request(lastEventID: "", lease: "ab").hex == "12026162")
        #expect(StreamContract.renewal(of: ["a"], ending: ["b", "c"]).hex == "0a0161" + "120162" + "120163")
        let states = StreamContract.states([0x0a, 5, 0x0a, 1, 0x61, 0x10, 9, 0x0a, 3, 0x0a, 1, 0x62])
        #expect(states == ["a": 9, "b": 0])
    }
}
