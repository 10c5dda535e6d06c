import TestSupport
import Testing

/// HEAD (RFC 9110 §9.3.2).
struct HeadTests {
    @Test(arguments: ["/healthz", "/docs", "/openapi.json", "/api/nothing", "/api/streaks", "/s/none", "/media/none"])
    func `HEAD is answered as GET is, without the content`(target: String) async throws {
        let http = try await Installation.shared.value.http
        let (whole, head) = (try await http.send("GET", target), try await http.send("HEAD", target))
        #expect(!whole.body.isEmpty)
        #expect(head.status == whole.status && head.body.isEmpty, "\(head.status): \(head.text)")
        // The lists of routes change when a service joins, which another test may bring about between the two.
        try await eventually("the length is that of the content") {
            let (whole, head) = (try await http.send("GET", target), try await http.send("HEAD", target))
            return head.header("Content-Length") == "\(whole.body.count)"
        }
        #expect(head.header("Content-Type") == whole.header("Content-Type"))
    }
}
