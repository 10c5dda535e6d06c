import Foundation
import Processes
import TestSupport
import Testing

/// Profiles, guests and administrators through the whole system (AU-3, AU-8 … AU-12).
struct AccountTests {
    @Test func `a new name is what friends see`() async throws {
        let home = try await Installation.shared.value
        let (ann, bob) = (try await Person.register("ann", at: home), try await Person.register("bob", at: home))
        try await ann.befriend(bob)
        let name = Person.unique("renamed")
        let changed = try await home.call(
            "PUT",
            "/api/users/me",
            token: ann.token,
            json: "{\"username\":\"\(name)\",\"display_name\":\"Ann Lee\",\"time_zone\":\"Asia/Tokyo\"}"
        )
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.data["stats"]["total_active_streaks"].int != nil, "the profile comes whole")
        let again = try await home.call(
            "PUT",
            "/api/users/me",
            token: ann.token,
            json: "{\"username\":\"\(Person.unique("x"))\"}"
        )
        #expect(again.status == 400 && again.code == "USERNAME_CHANGED_RECENTLY")
        try await eventually("Bob's list shows it") { try await bob.get("/api/friends").text.contains("\"\(name)\"") }
        let profile = try await bob.get("/api/users/\(ann.id)")
        #expect(profile.data["username"].string == name && profile.data["display_name"].string == "Ann Lee")
        #expect(try await home.call("GET", "/api/auth/check-username/\(ann.username)").data["available"].bool == true)
        #expect(try await home.call("GET", "/api/auth/check-username/\(name)").data["available"].bool == false)
    }

    @Test func `an address and a username that are taken are both named`() async throws {
        let home = try await Installation.shared.value
        let (ann, bob) = (try await Person.register("ann", at: home), try await Person.register("bob", at: home))
        let json = "{\"email\":\"\(ann.email)\",\"password\":\"long enough\",\"username\":\"\(bob.username)\"}"
        let taken = try await Person.patiently { try await home.call("POST", "/api/auth/register", json: json) }
        #expect(taken.status == 409 && taken.code == "EMAIL_TAKEN" && taken.fields == ["email", "username"], "\(taken.text)")
    }

    @Test func `accepted terms are in the profile`() async throws {
        let home = try await Installation.shared.value
        var person = Person(home: home, username: Person.unique("tess"))
        try person.take(try await home.call("POST", "/api/auth/register", json: person.registration()), 201)
        #expect(try await person.get("/api/users/me").data["terms_version"].isNull)
        let accepted = try await person.post("/api/users/me/terms", "{\"version\":\"2026-01\"}", key: "terms")
        #expect(accepted.status == 200, "\(accepted.text)")
        let repeated = try await person.post("/api/users/me/terms", "{\"version\":\"2026-01\"}", key: "terms")
        #expect(repeated.data == accepted.data)
        let me = try await person.get("/api/users/me").data
        #expect(me["terms_version"].string == "2026-01" && me["terms_accepted_at"] == accepted.data["terms_accepted_at"])
    }

    @Test func `a guest has three peeks and changes nothing`() async throws {
        let home = try await Installation.shared.value
        let guest = try await home.call("POST", "/api/auth/guest", json: "{\"device_id\":\"\(Person.unique("device"))\"}")
        #expect(guest.status == 200, "\(guest.text)")
        #expect(guest.data["guest_peeks_remaining"].int == 3)
        let token = try #require(guest.data["access_token"].string)
        for left in [2, 1, 0] {
            let peek = try await home.call("POST", "/api/auth/guest/peek", token: token)
            #expect(peek.data["guest_peeks_remaining"].int == left, "\(peek.text)")
        }
        let refused = try await home.call("POST", "/api/auth/guest/peek", token: token)
        #expect(refused.status == 429 && refused.code == "GUEST_PEEKS_USED_UP" && refused.header("Retry-After") != nil)
        #expect(try await home.call("GET", "/api/streaks", token: token).code == "GUEST_NOT_ALLOWED")
    }

    @Test func `a system that knows no app of Apple's says so, another refuses what is no token`() async throws {
        let home = try await Installation.timeTravelling.value
        let reply = try await home.call("POST", "/api/auth/apple", json: "{\"identity_token\":\"a.b.c\"}")
        #expect(reply.status == 501 && reply.code == "APPLE_SIGN_IN_OFF", "\(reply.text)")
        let apple = try await Installation.shared.value
        let refused = try await apple.call("POST", "/api/auth/apple", json: "{\"identity_token\":\"a.b.c\"}")
        #expect(refused.status == 401 && refused.code == "INVALID_APPLE_TOKEN", "\(refused.text)")
    }

    @Test func `the operator makes an administrator and rotates the key while everything runs`() async throws {
        let home = try await Installation.shared.value
        var person = try await Person.register("rhea", at: home)
        func streaksnap(_ arguments: String...) async throws -> String {
            let result = try await run(
                Installation.binaries.appending(path: "streaksnap").path,
                arguments + ["--data", home.data.path]
            )
            guard result.status == 0 else { throw Guardian.Failure(description: result.errors) }
            return result.text
        }
        #expect(try await streaksnap("make-admin", person.email).contains("is an administrator; 1 session ended"))
        try await eventually("the token of before is refused", within: .seconds(60)) {
            try await person.get("/api/users/me").code == "SESSION_REVOKED"
        }
        try await person.signIn()
        #expect(try await person.get("/api/users/me").data["is_admin"].bool == true)
        await #expect(throws: (any Error).self) { _ = try await streaksnap("make-admin", "unknown@example.com") }

        let keys = { try await home.call("GET", "/.well-known/jwks.json").json["keys"].list.count }
        let before = try await keys()
        #expect(try await streaksnap("rotate-key").contains("signs in a minute"))
        try await eventually("the new key is published") { try await keys() == before + 1 }
        #expect(try await person.get("/api/users/me").status == 200)
    }
}
