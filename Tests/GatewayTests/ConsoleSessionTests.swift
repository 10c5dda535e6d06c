import Foundation
import TestSupport
import Testing

@testable import GatewayService

/// The cookie that keeps who is signed in to `/admin` over a reload.
struct ConsoleSessionTests {
    private static let token = "abc.DEF-12_3~"
    private static let cookie = "Cookie: other=1; streaksnap-console=\(token); more=2\r\n"

    private func ask(_ line: String, from origin: String? = "http://a", _ headers: String = "", body: String = "") async throws
        -> RawReply
    {
        let own = (origin.map { "Origin: \($0)\r\n" } ?? "") + headers
        let type = body.isEmpty ? "" : "Content-Type: application/json\r\n"
        return try await EchoGateway.shared.value.ask(
            "\(line) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(own)\(type)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
    }

    private func keep(_ token: String, from origin: String? = "http://a") async throws -> RawReply {
        let body = String(decoding: try JSONSerialization.data(withJSONObject: ["refresh_token": token]), as: UTF8.self)
        return try await ask("PUT /admin/session", from: origin, body: body)
    }

    @Test func `a token is kept where no script sees it, for this path only, and handed back to the page`() async throws {
        let kept = try await keep(Self.token)
        #expect(kept.status == 200 && kept["Cache-Control"] == "no-store", "\(kept)")
        #expect(kept["Set-Cookie"] == "streaksnap-console=\(Self.token); Path=/admin/session; HttpOnly; SameSite=Strict")
        #expect(!kept.body.contains(Self.token))
        let secure = try await keep(Self.token, from: "https://a")
        #expect(secure["Set-Cookie"]?.hasSuffix("; HttpOnly; SameSite=Strict; Secure") == true, "\(secure)")
        let read = try await ask("POST /admin/session", Self.cookie)
        #expect(read.status == 200 && read.body.contains("{\"refresh_token\":\"\(Self.token)\"}"), "\(read)")
        #expect(read["Cache-Control"] == "no-store" && read["Set-Cookie"] == nil)
        let none = try await ask("POST /admin/session", "Cookie: other=1\r\n")
        #expect(none.status == 200 && none.body.contains("{\"refresh_token\":null}"), "\(none)")
        let ended = try await ask("DELETE /admin/session", Self.cookie)
        #expect(ended["Set-Cookie"]?.hasPrefix("streaksnap-console=; Max-Age=0; Path=/admin/session;") == true, "\(ended)")
    }

    @Test(arguments: ["http://b", "http://a.b", "http://b.a", "http://a:81", "http://A", "ftp://a", "a", "null", nil])
    func `a page of another origin neither reads, changes nor ends it`(origin: String?) async throws {
        for line in ["POST /admin/session", "DELETE /admin/session"] {
            let reply = try await ask(line, from: origin, Self.cookie)
            #expect(reply.status == 404 && reply["Set-Cookie"] == nil && !reply.body.contains(Self.token), "\(reply)")
        }
        let reply = try await keep("other", from: origin)
        #expect(reply.status == 404 && reply["Set-Cookie"] == nil, "\(reply)")
    }

    @Test func `it authenticates nothing`() async throws {
        let body = "{\"text\":\"x\"}"
        let reply = try await ask("POST /api/private/notes", Self.cookie, body: body)
        #expect(reply.status == 401, "\(reply)")
        // A link and a form of another page send it by GET and without an origin.
        #expect(try await ask("GET /admin/session", Self.cookie).status == 405)
    }

    @Test(arguments: ["", "a;b", "a b", "a\"b", "a\r\nb", "ü", String(repeating: "a", count: 2_049)])
    func `what could not be a token is not kept`(token: String) async throws {
        let reply = try await keep(token)
        #expect(reply.status == 400 && reply["Set-Cookie"] == nil, "\(reply)")
        let read = try await ask("POST /admin/session", "Cookie: streaksnap-console=a\"b\r\n")
        #expect(read.body.contains("{\"refresh_token\":null}"), "\(read)")
    }
}
