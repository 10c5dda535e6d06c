import Foundation
import TestSupport
import Testing

/// Signing in, staying signed in and being signed out (AU-1 … AU-6).
struct SessionTests {
    private func refresh(_ token: String) async throws -> HTTPReply {
        let home = try await Installation.shared.value
        return try await home.call("POST", "/api/auth/refresh", json: "{\"refresh_token\":\"\(token)\"}")
    }

    /// Until the gateway has the revocation.
    private func isRefused(_ person: Person) async throws {
        try await eventually("the access token of an ended session is refused", within: .seconds(60)) {
            let reply = try await person.get("/api/users/me")
            return reply.status == 401 && reply.code == "SESSION_REVOKED"
        }
    }

    @Test func `an unknown e-mail is answered like a wrong password`() async throws {
        let home = try await Installation.shared.value
        let person = try await Person.register("sam", at: home)
        let wrong = try await home.call(
            "POST",
            "/api/auth/login",
            json: "{\"email\":\(quoted(person.email)),\"password\":\"wrong password\"}"
        )
        let unknown = try await home.call(
            "POST",
            "/api/auth/login",
            json: "{\"email\":\"unknown@example.com\",\"password\":\"wrong password\"}"
        )
        for reply in [wrong, unknown] {
            #expect(reply.status == 401)
            #expect(reply.code == "INVALID_CREDENTIALS")
        }
        #expect(wrong.json["error"] == unknown.json["error"])
    }

    @Test func `an e-mail is compared without regard to case`() async throws {
        let home = try await Installation.shared.value
        let person = try await Person.register("sam", at: home)
        let login = "{\"email\":\(quoted(person.email.uppercased())),\"password\":\"\(Person.password)\"}"
        let reply = try await home.call("POST", "/api/auth/login", json: login)
        #expect(reply.status == 200)
        #expect(reply.data["user"]["email"].string == person.email)
        #expect(reply.data["token_type"].string == "Bearer")
        #expect(reply.data["expires_in"].int == 900)
        let again = try await home.call(
            "POST",
            "/api/auth/register",
            json: "{\"email\":\(quoted(person.email.uppercased())),\"password\":\"\(Person.password)\"}"
        )
        #expect(again.status == 409)
        #expect(again.code == "EMAIL_TAKEN")
    }

    @Test func `a lost reply to a refresh can be asked for again, and gives the same successor`() async throws {
        var person = try await Person.register("sam", at: try await Installation.shared.value)
        let first = person.refreshToken
        let reply = try await refresh(first)
        try person.take(reply, 200)
        #expect(person.refreshToken != first)
        let repeated = try await refresh(first)
        #expect(repeated.status == 200, "\(repeated.text)")
        #expect(repeated.data["refresh_token"].string == person.refreshToken)
        #expect(try await person.get("/api/users/me").status == 200)
        #expect(try await refresh(person.refreshToken).status == 200)
    }

    @Test func `a refresh token that was used long ago ends its whole family`() async throws {
        var person = try await Person.register("sam", at: try await Installation.shared.value)
        var other = person
        try await other.signIn()
        let stolen = person.refreshToken
        for _ in 0..<2 { try person.take(try await refresh(person.refreshToken), 200) }
        let theft = try await refresh(stolen)
        #expect(theft.status == 401)
        #expect(theft.code == "REFRESH_TOKEN_REUSED")
        #expect(try await refresh(person.refreshToken).status == 401)
        try await isRefused(person)
        #expect(try await other.get("/api/users/me").status == 200, "another session is another family")
        #expect(try await refresh("no-such-token-at-all").code == "INVALID_REFRESH_TOKEN")
    }

    @Test func `signing out ends this session`() async throws {
        let person = try await Person.register("sam", at: try await Installation.shared.value)
        var other = person
        try await other.signIn()
        let reply = try await person.post("/api/auth/logout")
        #expect(reply.status == 200, "\(reply.text)")
        #expect(reply.data["sessions_ended"].int == 1)
        try await isRefused(person)
        #expect(try await refresh(person.refreshToken).status == 401)
        #expect(try await other.get("/api/users/me").status == 200)
    }

    @Test func `signing out everywhere ends every session`() async throws {
        let person = try await Person.register("sam", at: try await Installation.shared.value)
        var other = person
        try await other.signIn()
        let reply = try await person.post("/api/auth/logout?all=true")
        #expect(reply.data["sessions_ended"].int == 2, "\(reply.text)")
        for session in [person, other] {
            try await isRefused(session)
            #expect(try await refresh(session.refreshToken).status == 401)
        }
        try await other.signIn()
    }

    @Test func `the keys that tokens are signed with are public`() async throws {
        let keys = try await Installation.shared.value.call("GET", "/.well-known/jwks.json")
        #expect(keys.status == 200)
        let key = keys.json["keys"][0]
        #expect(key["alg"].string == "ES256")
        #expect(key["kid"].string?.isEmpty == false)
        #expect(!keys.text.contains("\"d\""), "no private part")
    }
}
