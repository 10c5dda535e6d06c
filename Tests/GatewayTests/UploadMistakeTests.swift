import Foundation
import TestSupport
import Testing

/// What forms go wrong with in practice, and what is answered.
@Suite(.timeLimit(.minutes(5))) struct UploadMistakeTests {
    private static func send(_ disposition: [UInt8], _ content: String, to gateway: EchoGateway) async throws -> RawReply {
        let start = Array("--b\r\nContent-Disposition: form-data; ".utf8) + disposition + Array("\r\n\r\n".utf8)
        let body = start + Array(content.utf8) + Array("\r\n--b--\r\n".utf8)
        let head = "POST /api/photos HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        return try await gateway.ask(head + "Content-Length: \(body.count)\r\n\r\n", body: body)
    }

    /// React Native sends the first when FormData gets an object that is no file.
    @Test func `a text in place of a file says what to send, and leaves nothing behind`() async throws {
        let gateway = try await EchoGateway()
        for text in ["[object Object]", "undefined", "file:///data/user/0/app/cache/photo.jpg", "data:image/jpeg;base64,/9j/4AA"]
        {
            let reply = try await Self.send(Array("name=\"photo\"".utf8), text, to: gateway)
            #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR", "\(reply)")
            #expect(reply.body.contains(#""field":"photo""#) && reply.body.contains("{uri, name, type}"), "\(reply)")
            #expect(reply.body.contains(text.prefix(15)), "\(reply)")
        }
        let left = FileManager.default.enumerator(atPath: gateway.files.appendingPathComponent("incoming").path)?.allObjects ?? []
        #expect(left.isEmpty, "\(left)")
        await gateway.stop()
    }

    private static func part(_ disposition: String, _ content: String) -> String {
        "--b\r\nContent-Disposition: form-data; \(disposition)\r\n\r\n\(content)\r\n"
    }

    private static func send(_ parts: [String], to gateway: EchoGateway) async throws -> RawReply {
        let body = Array((parts.joined() + "--b--\r\n").utf8)
        let head = "POST /api/photos HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        return try await gateway.ask(head + "Content-Length: \(body.count)\r\n\r\n", body: body)
    }

    @Test func `each part that is wrong is named, and nothing stays`() async throws {
        let gateway = try await EchoGateway()
        let parts = [
            Self.part("name=\"picture\"; filename=\"a.jpg\"", String(repeating: "x", count: 100_000)),
            Self.part("name=\"photo\"; filename=\"a.jpg\"", "some bytes"),
            Self.part("name=\"photo\"; filename=\"b.jpg\"", String(repeating: "y", count: 100_000)),
            Self.part("name=\"caption\"", String(repeating: "z", count: 70_000)), Self.part("name=\"filter\"", "sepia"),
        ]
        let reply = try await Self.send(parts, to: gateway)
        #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR", "\(reply)")
        let fields = reply.body.matches(of: /"field":"([^"]*)"/).map { String($0.1) }
        #expect(fields == ["photo", "caption", "picture", "filter"], "in the order of the request's fields: \(reply)")
        let left = FileManager.default.enumerator(atPath: gateway.files.appendingPathComponent("incoming").path)?.allObjects ?? []
        #expect(left.isEmpty, "\(left)")
        await gateway.stop()
    }

    @Test func `of a form that has more wrong parts than anyone sends by mistake the rest is not read`() async throws {
        let gateway = try await EchoGateway.shared.value
        let wrong = (0..<20).map { Self.part("name=\"p\($0)\"; filename=\"a.jpg\"", "x") }
        let reply = try await Self.send(wrong, to: gateway)
        #expect(reply.status == 400 && reply.body.matches(of: /"field":"p\d+"/).count == 11, "\(reply)")
        let large = Self.part("name=\"picture\"; filename=\"a.jpg\"", String(repeating: "x", count: 3_100_000))
        let refused = try await Self.send([large, Self.part("name=\"filter\"", "sepia")], to: gateway)
        #expect(refused.body.matches(of: /"field":"/).count == 1 && refused.body.contains("picture"), "\(refused)")
    }

    @Test(arguments: ["[objections]", "nullable", "x"])
    func `other contents are the service's to judge`(text: String) async throws {
        let reply = try await Self.send(Array("name=\"photo\"".utf8), text, to: try await EchoGateway.shared.value)
        #expect(reply.status == 200, "\(reply)")
    }

    @Test func `a file name in Latin-1, or with a byte that no text has, is only a hint`() async throws {
        let gateway = try await EchoGateway.shared.value
        for name in [Array("caf".utf8) + [0xE9], Array("a".utf8) + [0] + Array("b".utf8)] {
            let disposition = Array("name=\"photo\"; filename=\"".utf8) + name + Array(".jpg\"".utf8)
            let reply = try await Self.send(disposition, "some bytes", to: gateway)
            #expect(reply.status == 200 && reply.body.contains(".jpg"), "\(reply)")
        }
    }
}
