import Foundation
import TestSupport
import Testing

/// The second factor of an administrator in a world of its own, where it is required, through the API alone.
extension TestEnvironmentTests {
    private static let path = "/api/auth/second-factor"
    private static let actions = "/api/admin/actions"

    /// An administrator by the password.
    private struct Root {
        let world: KitWorld
        let email: String
        var password = "correct-horse-battery"

        /// A sign-in with a code, or without one.
        func login(_ code: String? = nil) async throws -> HTTPReply {
            let code = code.map { ",\"code\":\(quoted($0))" } ?? ""
            let body = "{\"email\":\(quoted(email)),\"password\":\(quoted(password))\(code)}"
            return try await world.call("POST", "/api/auth/login", body)
        }

        /// A sign-in with Apple, by the account's own address.
        func apple(_ code: String? = nil) async throws -> HTTPReply {
            let wish = "{\"subject\":\"001.root\",\"email\":\(quoted(email))}"
            let identity = try #require(try await world.ask("POST", "apple-tokens", wish)["identity_token"].string)
            let code = code.map { ",\"code\":\(quoted($0))" } ?? ""
            return try await world.call("POST", "/api/auth/apple", "{\"identity_token\":\(quoted(identity))\(code)}")
        }

        func refresh(_ session: JSON) async throws -> HTTPReply {
            let token = try #require(session["refresh_token"].string)
            return try await world.call("POST", "/api/auth/refresh", "{\"refresh_token\":\(quoted(token))}")
        }

        /// The app and the recovery codes of a second factor that a session has set up.
        func enrol(_ session: JSON) async throws -> (app: Authenticator, codes: [String]) {
            let proof = "{\"password\":\(quoted(password))}"
            let started = try await world.call("POST", TestEnvironmentTests.path, by: session, proof)
            let app = Authenticator(secret: try #require(started.data["secret"].string, "\(started.text)"))
            let confirmed = try await world.call(
                "POST",
                TestEnvironmentTests.path + "/confirm",
                by: session,
                "{\"code\":\"\(app.code())\"}"
            )
            try #require(confirmed.status == 200, "\(confirmed.text)")
            return (app, confirmed.data["recovery_codes"].list.compactMap { $0.string })
        }
    }

    private func root() async throws -> Root {
        let world = try await TestKit.shared.value.world(#"{"settings": {"auth.admin-second-factor": "required"}}"#)
        let person = try #require(try await world.people().first)
        let (id, email) = (try #require(person["user_id"].string), try #require(person["email"].string))
        let described = try await world.kit.ask("GET", "/worlds/\(world.id)")
        let url = try #require(described.json["postgres"]["url"].string)
        let change = "UPDATE auth.account SET is_admin = true, email_verified_at = now() WHERE id = '\(id)' RETURNING id"
        try #require(try await AdministratorConnection(url).ask(change) == id)
        return Root(world: world, email: email)
    }

    @Test func `an administrator needs a second factor, whatever way they come, and no code is taken twice`() async throws {
        var root = try await root()
        let world = root.world
        let (first, other) = (try await root.login(), try await root.login())
        try #require(first.status == 200, "\(first.text)")
        let refused = try await world.call("GET", Self.actions, by: first.data)
        #expect(refused.status == 403 && refused.code == "SECOND_FACTOR_ENROLMENT_REQUIRED", "\(refused.text)")
        #expect(try await world.call("GET", "/api/users/me", by: first.data).status == 200)
        let (app, codes) = try await root.enrol(first.data)
        #expect(Set(codes).count == 10)

        // The session that has shown a code goes on with its rights, the other one has ended.
        let renewed = try await root.refresh(first.data)
        #expect(try await world.call("GET", Self.actions, by: renewed.data).status == 200, "\(renewed.text)")
        #expect(try await root.refresh(other.data).code == "INVALID_REFRESH_TOKEN")

        // With the password alone there is none; a code lets in once, and a recovery code too.
        let asked = try await root.login()
        #expect(asked.status == 403 && asked.code == "SECOND_FACTOR_REQUIRED", "\(asked.text)")
        let code = app.code(1)
        #expect(try await root.login(code).status == 200)
        #expect(try await root.login(code).code == "SECOND_FACTOR_INVALID")
        let recovered = try await root.login(codes[0])
        #expect(try await world.call("GET", Self.actions, by: recovered.data).status == 200, "\(recovered.text)")
        #expect(try await root.login(codes[0]).code == "SECOND_FACTOR_INVALID")
        let state = try await world.call("GET", Self.path, by: recovered.data)
        #expect(state.data["recovery_codes_left"].int == 9 && state.data["required"].bool == true, "\(state.text)")

        // What is exported says that there is one, and since when.
        let export = try await world.call("GET", "/api/users/me/export", by: recovered.data)
        #expect(export.json["auth"]["second_factor"][0]["enrolled_at"].string != nil, "\(export.text.prefix(2_000))")
        #expect(export.json["auth"]["second_factor"][0].names == ["enrolled_at"])

        // Apple, which would link the account by its address, and then knows it.
        #expect(try await root.apple().code == "SECOND_FACTOR_REQUIRED")
        #expect(try await root.apple(codes[1]).status == 200)
        #expect(try await root.apple().code == "SECOND_FACTOR_REQUIRED")

        // A link to a new password.
        _ = try await world.ask("DELETE", "mails")
        _ = try await world.call("POST", "/api/auth/password/forgot", "{\"email\":\(quoted(root.email))}")
        // Those of the recovery codes may come first.
        var found: String?
        try await eventually("the link comes") {
            let mails = try await world.ask("GET", "mails?at_least=1&within_seconds=30&to=\(root.email)")["mails"].list
            found = mails.compactMap { $0["text"].string?.firstMatch(of: /\/reset\/([A-Za-z0-9_-]{43})/) }.first.map { "\($0.1)" }
            return found != nil
        }
        let link = try #require(found)
        root.password = "battery-horse-staple"
        let reset = "{\"token\":\"\(link)\",\"new_password\":\(quoted(root.password))}"
        #expect(try await world.call("POST", "/api/auth/password/reset", reset).status == 200)
        #expect(try await root.login().code == "SECOND_FACTOR_REQUIRED")

        // Ten guesses, and no more.
        for _ in 0..<10 { #expect(try await root.login(app.wrongCode).code == "SECOND_FACTOR_INVALID") }
        let limited = try await root.login(codes[2])
        #expect(limited.status == 429 && limited.code == "RATE_LIMITED", "\(limited.text)")
    }
}

extension ConsoleTests {
    @Test func `a second factor is set up, asked for and removed in the console`() async throws {
        let home = try await Installation.shared.value
        let admin = try await Person.administrator(at: home)
        let text = try await PageScript.play(
            "security.py",
            ["http://127.0.0.1:\(home.http.port)", admin.email, Person.password],
            within: .seconds(300)
        )
        #expect(text.hasSuffix("secured\n"), "\(text)")
        let kinds = "SELECT kind FROM auth.admin_action WHERE subject_id = '\(admin.id)' AND kind IN (20, 21) ORDER BY taken_at"
        #expect(try await home.sql(kinds) == "20\n21")
        #expect(try await home.sql("SELECT count(*) FROM auth.second_factor WHERE account_id = '\(admin.id)'") == "0")
    }
}
