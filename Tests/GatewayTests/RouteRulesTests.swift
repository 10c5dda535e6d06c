import Runtime
import Testing
import Transcoding

@testable import GatewayService

@Suite("What descriptors may not decide")
struct RouteRulesTests {
    private typealias Method = HandmadeDescriptor.Method

    private static func rules(_ given: [String: String] = [:]) throws -> RouteRules {
        try GatewayRules.routes(Settings(values: given, declared: GatewayHost.settings))
    }

    private static func service(_ name: String, _ methods: [Method]) throws -> RouteTable.Service {
        let note = HandmadeDescriptor.Message(fields: ["text", "content"], bytes: ["content"])
        let descriptor = HandmadeDescriptor(service: name, methods: methods, messages: [note])
        return .init(name: name, sets: [try DescriptorSet(serialized: descriptor.bytes)])
    }

    private static func service(_ name: String, _ paths: String...) throws -> RouteTable.Service {
        try service(name, paths.enumerated().map { Method(name: "M\($0)", path: $1) })
    }

    /// Which service has which path, and what was refused.
    private static func routes(_ table: RouteTable) -> [String] { table.routes.map { "\($0.service) \($0.template)" } }

    @Test(arguments: [
        "/{text=**}", "/{text}", "/*", "/**", "/{text}/items", "/api/{text=**}", "/api/{text}", "/api/*/items", "/api/**",
        "/files/{text=**}",
        "/.well-known/{text}", "/.well-known/{text=**}", "/.well-known/jwks.json", "/healthz", "/readyz", "/openapi.json", "/map",
        "/docs",
        "/admin", "/admin/session", "/demo", "/pages/{text}", "/pages/x/y", "/media/{text}", "/media/a/b", "/uploads/{text}",
        "/api/health",
        "/api/dev/clock",
        "/api/dev/{text}",
    ])
    func `a service gets no path of the gateway's own, and no wildcard where those of others may be`(path: String) throws {
        let table = RouteTable(rules: try Self.rules())
        let refused = table.replace(with: [try Self.service("social", path)])
        #expect(refused["social"]?.count == 1 && table.routes.isEmpty, "\(path)")
    }

    @Test(arguments: [
        "/s/{text}", "/api/social/{text}", "/api/social/files/{text=**}", "/api/social/{text=**}", "/.well-known/other",
    ])
    func `other wildcards are served`(path: String) throws {
        let table = RouteTable(rules: try Self.rules())
        #expect(table.replace(with: [try Self.service("social", path)])["social"]?.isEmpty == true)
        #expect(Self.routes(table) == ["social \(path)"])
    }

    @Test(arguments: [
        "authorization", "Authorization", "cookie", "Cookie", "proxy-authorization", "set-cookie", "principal-user",
        "principal-role", "call",
        "traceparent", "deadline", "client-address", "idempotency-key", "request-id", "last-event-id", "nats-msg-id",
    ])
    func `no header that signs in, and none of the platform's own, leaves the gateway`(header: String) throws {
        let method = Method(name: "Hook", verb: "POST", path: "/api/social/hook", auth: 5, policy: Self.unread(header))
        let table = RouteTable(rules: try Self.rules())
        let refused = table.replace(with: [try Self.service("social", [method])])["social"] ?? []
        #expect(table.routes.isEmpty && refused.first?.reason.contains("does not leave the gateway") == true, "\(refused)")
    }

    private static func unread(_ header: String) -> [UInt8] {
        let header = HandmadeDescriptor.field(3, HandmadeDescriptor.text(1, header) + HandmadeDescriptor.text(2, "text"))
        return HandmadeDescriptor.field(12, HandmadeDescriptor.text(1, "content") + HandmadeDescriptor.varint(2, 5_000) + header)
    }

    @Test func `a webhook's own Authorization goes to the service and path that the operator names, and no further`() throws {
        func hook(_ path: String, auth: UInt64 = 5) -> Method {
            Method(name: "Hook", verb: "POST", path: path, auth: auth, policy: Self.unread("authorization"))
        }
        let rules = try Self.rules(["gateway.webhook-authorization": "billing:/api/webhooks/shop, media:/api/webhooks/screen"])
        func isServed(_ service: String, _ method: Method) throws -> Bool {
            let table = RouteTable(rules: rules)
            table.replace(with: [try Self.service(service, [method])])
            return !table.routes.isEmpty
        }
        #expect(try isServed("billing", hook("/api/webhooks/shop")))
        #expect(try isServed("media", hook("/api/webhooks/screen")))
        #expect(try !isServed("social", hook("/api/webhooks/shop")))
        #expect(try !isServed("billing", hook("/api/webhooks/screen")))
        #expect(try !isServed("billing", hook("/api/webhooks/shop", auth: 3)), "the header is a token there")
        #expect(throws: Settings.Invalid.self) { try Self.rules(["gateway.webhook-authorization": "/api/webhooks/shop"]) }
    }

    @Test func `who has a path keeps it, until it no longer declares it`() throws {
        let table = RouteTable()
        let streaks = try Self.service("streaks", "/api/a", "/api/b")
        table.replace(with: [streaks])
        let social = try Self.service("social", "/api/a", "/api/c")
        let refused = table.replace(with: [social, streaks], keepsPaths: true)
        #expect(Self.routes(table).sorted() == ["social /api/c", "streaks /api/a", "streaks /api/b"])
        #expect(refused["social"]?.map(\.route) == ["GET /api/a"] && refused["streaks"]?.isEmpty == true)
        // A new version of the holder gives it up; then the holder leaves.
        table.replace(with: [social, try Self.service("streaks", "/api/b")], keepsPaths: true)
        #expect(Self.routes(table).sorted() == ["social /api/a", "social /api/c", "streaks /api/b"])
        table.replace(with: [try Self.service("media", "/api/b")], keepsPaths: true)
        #expect(Self.routes(table) == ["media /api/b"])
    }

    @Test func `while a gateway starts, the order of the services decides, not who answers first`() throws {
        let table = RouteTable()
        let (streaks, social) = (try Self.service("streaks", "/api/a"), try Self.service("social", "/api/a"))
        table.replace(with: [social])
        table.replace(with: [streaks, social])
        #expect(Self.routes(table) == ["streaks /api/a"])
    }

    @Test func `a word takes nothing from a path whose variable is an id`() throws {
        let note = HandmadeDescriptor.Message(fields: ["id"], ids: ["id"])
        let streaks = HandmadeDescriptor(
            service: "streaks",
            methods: [.init(name: "Get", path: "/api/items/{id}")],
            messages: [note]
        )
        let table = RouteTable()
        let id = "0190f0e0-7a1c-7000-8000-000000000001"
        let refused = table.replace(with: [
            .init(name: "streaks", sets: [try DescriptorSet(serialized: streaks.bytes)]),
            try Self.service("social", "/api/items/today", "/api/items/\(id)"),
        ])
        #expect(Self.routes(table) == ["streaks /api/items/{id}", "social /api/items/today"])
        #expect(refused["social"]?.map(\.route) == ["GET /api/items/\(id)"])
    }

    @Test(arguments: [
        ("/api/items/{text}", "/api/items/today"), ("/api/items/{text}", "/api/items/{text=**}"),
        ("/api/items/a/b", "/api/items/{text=**}"),
        ("/api/{text=x/**}", "/api/x/y"), ("/api/items/{text}/open", "/api/items/me/open"),
        ("/api/items/{text}/open", "/api/items/me/{text}"),
    ])
    func `a path that takes part of another service's is refused, whichever is the wider`(holder: String, newcomer: String) throws
    {
        let table = RouteTable()
        let refused = table.replace(with: [try Self.service("streaks", holder), try Self.service("social", newcomer)])
        #expect(refused["social"]?.count == 1 && Self.routes(table) == ["streaks \(holder)"])
        // Within one service it is as it was: the better match wins.
        #expect(table.replace(with: [try Self.service("streaks", holder, newcomer)])["streaks"]?.isEmpty == true)
    }
}
