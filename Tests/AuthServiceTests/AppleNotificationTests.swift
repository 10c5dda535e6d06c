import AuthAPI
import Bus
import Foundation
import Kernel
import TestSupport
import Testing

/// Notifications of Apple's servers (AU-5).
@Suite(.serialized, .timeLimit(.minutes(5))) struct AppleNotificationTests {
    private func notify(
        _ world: World,
        _ type: String,
        _ sub: String,
        id: String = UUID().uuidString,
        asText: Bool = true,
        claims: (inout Claims) -> Void = { _ in }
    ) async throws -> APIReply {
        try await send(world, try notification(world, type, sub, id: id, asText: asText, claims: claims))
    }

    private func send(_ world: World, _ token: String, key: String? = nil) async throws -> APIReply {
        try await world.call("POST", "/api/webhooks/apple", "{\"payload\":\"\(token)\"}", key: key)
    }

    /// What Apple signs.
    private func notification(
        _ world: World,
        _ type: String,
        _ sub: String,
        id: String,
        asText: Bool = true,
        claims: (inout Claims) -> Void = { _ in }
    ) throws -> String {
        var outer = Claims(sub)
        let event = "{\"type\":\"\(type)\",\"sub\":\"\(sub)\",\"event_time\":\(world.now().milliseconds)}"
        let events = asText ? "\"\(event.replacing("\"", with: "\\\""))\"" : event
        outer.more = ",\"jti\":\"\(id)\",\"events\":\(events)"
        claims(&outer)
        return try world.apple.token(outer.json(world.now()))
    }

    private func signIn(_ world: World, _ claims: Claims) async throws -> SignInReply {
        try await world.accounts.signInWithApple(
            SignInWithAppleRequest(identityToken: try world.apple.token(claims.json(world.now()))),
            context: World.context()
        )
    }

    @Test(arguments: [true, false]) func `a revoked consent ends the sessions, and the next consent finds the account again`(
        asText: Bool
    ) async throws {
        let world = try await World.shared.value
        let claims = Claims(email: "\(World.unique("ann"))@example.com")
        let session = try await signIn(world, claims)
        #expect(try await world.call("GET", "/api/users/me", token: session.accessToken).status == 200)
        let reply = try await notify(world, "consent-revoked", claims.sub, id: "id-\(claims.sub)", asText: asText)
        #expect(reply.status == 200 && reply.bool("applied") == true, "\(reply.text)")
        try await eventually("the access token is refused") {
            try await world.call("GET", "/api/users/me", token: session.accessToken).code == "SESSION_REVOKED"
        }
        let refresh = RefreshRequest(refreshToken: session.refreshToken)
        #expect(await reason { try await world.accounts.refresh(refresh, context: World.context()) } == "INVALID_REFRESH_TOKEN")
        let anew = try await signIn(world, claims)
        #expect(anew.user?.id == session.user?.id)
        let again = try await notify(world, "consent-revoked", claims.sub, id: "id-\(claims.sub)", asText: asText)
        #expect(again.status == 200 && again.bool("applied") == false, "a repeat changes nothing")
        #expect(try await world.call("GET", "/api/users/me", token: anew.accessToken).status == 200)
    }

    @Test func `with an idempotency key a repeat gets the first answer, without one it changes nothing`() async throws {
        let world = try await World.shared.value
        let claims = Claims(email: "\(World.unique("ali"))@example.com")
        _ = try await signIn(world, claims)
        let token = try notification(world, "email-disabled", claims.sub, id: "id-\(claims.sub)")
        for _ in 0..<2 {
            let reply = try await send(world, token, key: "key-\(claims.sub)")
            #expect(reply.status == 200 && reply.bool("applied") == true, "\(reply.text)")
        }
        #expect(try await send(world, token).bool("applied") == false)
    }

    @Test(arguments: ["account-delete", "account-deleted"]) func `a deleted Apple Account ends the sessions`(type: String)
        async throws
    {
        let world = try await World.shared.value
        let claims = Claims(email: "\(World.unique("bob"))@example.com")
        let session = try await signIn(world, claims)
        #expect(try await notify(world, type, claims.sub).bool("applied") == true)
        try await eventually("the access token is refused") {
            try await world.call("GET", "/api/users/me", token: session.accessToken).code == "SESSION_REVOKED"
        }
    }

    @Test func `the relay address is switched off and on`() async throws {
        let world = try await World.shared.value
        let claims = Claims(email: "\(World.unique("cy"))@example.com")
        _ = try await signIn(world, claims)
        for (type, forwards) in [("email-disabled", false), ("email-enabled", true)] {
            #expect(try await notify(world, type, claims.sub).bool("applied") == true)
            let rows = try await world.database.query(
                "SELECT forwards_mail FROM auth.apple_identity WHERE subject = \(claims.sub)"
            )
            #expect(try rows.first?.decode(as: Bool.self) == forwards)
        }
    }

    @Test func `unknown users and kinds are answered with success`() async throws {
        let world = try await World.shared.value
        let claims = Claims()
        #expect(try await notify(world, "consent-revoked", "unknown").bool("applied") == false)
        let session = try await signIn(world, claims)
        #expect(try await notify(world, "something-new", claims.sub).bool("applied") == false)
        #expect(try await world.call("GET", "/api/users/me", token: session.accessToken).status == 200)
    }

    @Test func `what Apple has not signed for us is refused`() async throws {
        let world = try await World.shared.value
        let claims = Claims()
        let session = try await signIn(world, claims)
        let wrong: [(inout Claims) -> Void] = [
            { $0.iss = "\"https://example.com\"" }, { $0.aud = "\"com.example.another\"" }, { $0.expiresIn = -600 },
        ]
        for change in wrong {
            #expect(try await notify(world, "consent-revoked", claims.sub, claims: change).status == 401)
        }
        let unsigned = try world.apple.token("{}").split(separator: ".").dropLast().joined(separator: ".") + "."
        #expect(try await world.call("POST", "/api/webhooks/apple", "{\"payload\":\"\(unsigned)\"}").status == 401)
        for nothing in ["{}", "{\"payload\":\"\"}"] {
            #expect(try await world.call("POST", "/api/webhooks/apple", nothing).status == 401, "who asks comes first")
        }
        #expect(try await world.call("GET", "/api/users/me", token: session.accessToken).status == 200)
    }
}
