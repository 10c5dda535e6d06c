import NIOHTTP1
import Runtime
import TestSupport
import Testing

@testable import GatewayService

/// Which pages a browser lets use the API.
struct CrossOriginTests {
    private static func ask(
        _ line: String,
        from origin: String?,
        _ headers: String = "",
        of gateway: EchoGateway? = nil
    ) async throws -> RawReply {
        let asked = if let gateway { gateway } else { try await EchoGateway.withOrigins.value }
        let origin = origin.map { "Origin: \($0)\r\n" } ?? ""
        return try await asked.ask("\(line) HTTP/1.1\r\nHost: a\r\n\(origin)\(headers)\r\n")
    }

    private static let preflight = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n"

    @Test(arguments: [
        ("/api/notes", "GET, HEAD, POST"), ("/api/photos", "POST"), ("/media/avatars/x", "GET, HEAD"),
        ("/api/health", "GET, HEAD"),
    ]) func `a preflight is answered by the gateway with the methods of the path`(path: String, methods: String) async throws {
        let reply = try await Self.ask("OPTIONS \(path)", from: "https://app.example.com", Self.preflight)
        #expect(reply.status == 204, "\(reply)")
        #expect(reply["Access-Control-Allow-Origin"] == "https://app.example.com" && reply["Vary"] == "Origin")
        #expect(reply["Access-Control-Allow-Methods"] == methods)
        let allowed = reply["Access-Control-Allow-Headers"]?.lowercased().split(separator: ", ").map(String.init) ?? []
        let wanted = [
            "authorization", "content-type", "idempotency-key", "last-event-id", "if-none-match", "range", "traceparent",
        ]
        #expect(Set(allowed).isSuperset(of: wanted), "\(allowed)")
        #expect(reply["Access-Control-Max-Age"] == "7200")
        #expect(reply["Access-Control-Allow-Credentials"] == nil)
    }

    @Test(arguments: [
        ("GET /api/notes?text=x", 200), ("GET /api/notes?wrong=x", 400), ("GET /api/nothing", 404), ("DELETE /api/notes", 405),
        ("POST /api/private/notes", 401), ("GET /media/none", 404), ("GET /s/abc", 200), ("OPTIONS /api/nothing", 404),
    ]) func `replies may be read by pages of a listed origin, refusals included`(line: String, status: Int) async throws {
        let reply = try await Self.ask(line, from: "http://localhost:3000", Self.preflight)
        #expect(reply.status == status, "\(reply)")
        #expect(reply["Access-Control-Allow-Origin"] == "http://localhost:3000", "\(reply.head)")
        #expect(reply["Vary"] == "Origin")
        let exposed = reply["Access-Control-Expose-Headers"]?.split(separator: ", ").map(String.init) ?? []
        #expect(Set(exposed).isSuperset(of: ["X-Request-Id", "Retry-After", "RateLimit-Remaining", "ETag"]), "\(exposed)")
    }

    @Test func `what is no correct HTTP is refused so that the page can read why`() async throws {
        let reply = try await EchoGateway.withOrigins.value.ask(
            "POST /api/notes HTTP/1.1\r\nOrigin: https://app.example.com\r\n\r\n"
        )
        #expect(reply.status == 400 && reply["Access-Control-Allow-Origin"] == "https://app.example.com", "\(reply)")
    }

    @Test(arguments: ["https://evil.example.com", "https://app.example.com.evil.com", "http://app.example.com", "null", nil])
    func `other origins get no such headers`(origin: String?) async throws {
        for line in ["GET /api/notes?text=x", "OPTIONS /api/notes"] {
            let reply = try await Self.ask(line, from: origin, Self.preflight)
            #expect(reply.status == (line.hasPrefix("GET") ? 200 : 405), "\(reply)")
            #expect(!reply.head.lowercased().contains("access-control-"), "\(reply.head)")
            // A cache must not give this reply to a page that may read it.
            #expect(reply["Vary"] == "Origin")
        }
    }

    @Test func `without the setting nothing is allowed, and OPTIONS is a method like others`() async throws {
        let gateway = try await EchoGateway.shared.value
        let reply = try await Self.ask("OPTIONS /api/notes", from: "https://app.example.com", Self.preflight, of: gateway)
        #expect(reply.status == 405 && reply["Allow"] == "GET, HEAD, POST", "\(reply)")
        #expect(!reply.head.lowercased().contains("access-control-") && reply["Vary"] == nil)
    }

    @Test func `a star allows every origin, in the same words to all`() throws {
        let rules = try CrossOrigin("*")
        for origin in ["https://a.example", "null", nil] {
            var headers = HTTPHeaders()
            rules.addHeaders(to: &headers, for: origin)
            #expect(headers["Access-Control-Allow-Origin"] == ["*"] && !headers.contains(name: "Vary"))
        }
    }

    @Test(arguments: [
        "app.example.com", "https://", "https://a/", "https://a.example/path", "https://A.example", "https://a.example:443",
        "http://a.example:80", "https://user@a.example", "https://a.example?x", "*, https://a.example", "https://*.a.example/",
        "null", "https://a.example:port", "HTTPS://a.example",
    ]) func `what no browser sends as an origin is a wrong setting, which is named`(text: String) {
        let error = #expect(throws: Settings.Invalid.self) { try CrossOrigin(text) }
        #expect("\(error as Any)".contains("--http-cors-origins"), "\(error as Any)")
    }

    @Test(arguments: ["", " ", "https://a.example", "https://a.example:8443,http://[::1]:3000", "capacitor://localhost"])
    func `origins are taken as browsers send them`(text: String) {
        #expect(throws: Never.self) { try CrossOrigin(text) }
    }

    @Test func `a gateway does not start with a wrong setting`() async {
        let settings = Settings(
            values: ["http.cors-origins": "app.example.com"],
            declared: GatewayHost.settings
        )
        let error = #expect(throws: Settings.Invalid.self) {
            try GatewayHost(settings: settings, logger: .init(label: "gateway"), metrics: Metrics())
        }
        #expect("\(error as Any)".contains("--http-cors-origins"))
    }
}
