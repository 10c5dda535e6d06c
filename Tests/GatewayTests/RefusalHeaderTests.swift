import HTTPServer
import Kernel
import NIOHTTP1
import TestSupport
import Testing
import Transcoding

@testable import GatewayService

/// What every refusal says in headers, whatever route it is of (RFC 6750, RFC 9110).
struct RefusalHeaderTests {
    private static func headers(_ error: ServiceError) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.describe(error)
        return headers
    }

    @Test func `every 429 and 503 says when to come again, also when the service did not`() {
        #expect(Self.headers(ServiceError(.resourceExhausted, "TOO_MANY", "No.")).first(name: "Retry-After") == "1")
        #expect(Self.headers(ServiceError(.unavailable, "AWAY", "No.")).first(name: "Retry-After") == "1")
        #expect(Self.headers(ServiceError(.unavailable, "AWAY", "No.", retryAfter: 40)).first(name: "Retry-After") == "40")
        #expect(Self.headers(ServiceError.requestInProgress).first(name: "Retry-After") == "1")
        #expect(Self.headers(ServiceError.notFound("user")).first(name: "Retry-After") == nil)
    }

    @Test func `a message that is too large is 413: to send it later is in vain`() {
        let error = ServiceError(.resourceExhausted, "PAYLOAD_TOO_LARGE", "The message is too large.")
        #expect(Exchange.status(of: error) == 413 && Self.headers(error).first(name: "Retry-After") == nil)
    }

    @Test(arguments: ["", "Authorization: Basic YTpi\r\n", "Authorization: Bearer \r\n"])
    func `without credentials a 401 only says how to authenticate`(header: String) async throws {
        let gateway = try await EchoGateway.shared.value
        let reply = try await gateway.ask("POST /api/private/notes HTTP/1.1\r\nHost: a\r\n\(header)\r\n")
        #expect(reply.status == 401 && reply["WWW-Authenticate"] == #"Bearer realm="api""#, "\(reply)")
        #expect(reply.body.contains(#""reason":"AUTHENTICATION_REQUIRED""#), "\(reply)")
    }

    @Test func `a token that is refused is an invalid token, with a description`() {
        for error in [
            ServiceError.sessionRevoked, ServiceError(.unauthenticated, "TOKEN_EXPIRED", "It has expired: refresh it."),
        ] {
            let challenge = Self.headers(error).first(name: "WWW-Authenticate") ?? ""
            #expect(challenge.hasPrefix(#"Bearer error="invalid_token", error_description=""# + error.message), "\(challenge)")
        }
    }

    @Test func `a gateway that is not ready says when to ask again`() async throws {
        // There is no auth, whose keys it would need.
        let reply = try await EchoGateway.shared.value.ask("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(reply.status == 503 && reply["Retry-After"] == "1", "\(reply)")
    }
}
