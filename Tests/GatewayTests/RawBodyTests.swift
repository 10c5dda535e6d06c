import Foundation
import TestSupport
import Testing

/// Bodies that go to a handler unread, as webhooks send them.
struct RawBodyTests {
    private func post(
        _ body: [UInt8],
        _ headers: String = "",
        query: String = "",
        at gateway: EchoGateway
    ) async throws -> RawReply {
        try await gateway.ask(
            "POST /api/hooks/shop\(query) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\(headers)\r\n",
            body: body
        )
    }

    private func data(_ reply: RawReply) throws -> [String: Any] {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(reply.body.utf8)) as? [String: Any])
        return try #require(object["data"] as? [String: Any])
    }

    @Test(arguments: ["application/json", "text/plain", "application/octet-stream", "multipart/form-data; boundary=b", nil])
    func `a body of any media type arrives as it was sent, and without a token`(type: String?) async throws {
        let body = (0...255).map { UInt8($0) } + Array(#"{"unknown": 1}"#.utf8)
        let reply = try await post(
            body,
            (type.map { "Content-Type: \($0)\r\n" } ?? "") + "Authorization: shared secret\r\nX-Signature: t=1,v1=ab\r\n",
            query: "?attempt=2",
            at: try await EchoGateway.shared.value
        )
        #expect(reply.status == 200, "\(reply)")
        let data = try data(reply)
        #expect(data["content"] as? String == Data(body).base64EncodedString())
        #expect(data["authorization"] as? String == "shared secret" && data["signature"] as? String == "t=1,v1=ab")
        #expect(data["sender"] as? String == "shop" && data["attempt"] as? Int == 2)
    }

    @Test func `a header that does not come leaves its field empty, and so does no body`() async throws {
        let data = try data(try await post([], at: try await EchoGateway.shared.value))
        #expect(data["content"] as? String == "" && data["signature"] as? String == "")
    }

    @Test func `as many bytes as the method takes are taken, announced or in chunks, and not one more`() async throws {
        let gateway = try await EchoGateway.shared.value
        let most = [UInt8](repeating: 7, count: 5_000)
        #expect(try await post(most, at: gateway).status == 200)
        let announced = try await post(most + [7], at: gateway)
        #expect(announced.status == 413 && announced.code == "BODY_TOO_LARGE" && announced.body.contains("5000"), "\(announced)")
        let connection = try gateway.connect()
        try await connection.send("POST /api/hooks/shop HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        try await connection.send(Array("1389\r\n".utf8) + most + [7] + Array("\r\n0\r\n\r\n".utf8))
        let chunked = try await connection.reply()
        #expect(chunked.status == 413 && chunked.code == "BODY_TOO_LARGE", "\(chunked)")
    }

    @Test func `what is wrong beside the body is named`() async throws {
        let gateway = try await EchoGateway.shared.value
        for (query, field) in [("?attempt=x", "attempt"), ("?color=red", "color"), ("?signature=x", "signature")] {
            let reply = try await post([1], query: query, at: gateway)
            #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR" && reply.body.contains("\"\(field)\""), "\(reply)")
        }
        let packed = try await post([1], "Content-Encoding: gzip\r\n", at: gateway)
        #expect(packed.status == 415 && packed.code == "UNSUPPORTED_CONTENT_ENCODING", "\(packed)")
    }

    @Test func `it is outside of the address rate, and what is beside it is not`() async throws {
        let gateway = try await EchoGateway(["http.address-rate": "1"], isAsked: false)
        // Requests are counted as long as the gateway does not know what is behind the path.
        try await eventually("the routes are known") { try await post([1], at: gateway).status == 200 }
        var hooks: [Int] = []
        for _ in 0..<40 { hooks.append(try await post([1], at: gateway).status) }
        #expect(hooks.allSatisfy { $0 == 200 }, "\(hooks)")
        var notes: [Int] = []
        for _ in 0..<40 { notes.append(try await gateway.say("", Array("{}".utf8)).status) }
        #expect(notes.contains(429))
        await gateway.stop()
    }
}
