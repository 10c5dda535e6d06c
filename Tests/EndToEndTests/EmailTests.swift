import Foundation
import TestSupport
import Testing

/// Mails from the request to the file, and the links in them (AU-13).
struct EmailTests {
    private let newPassword = "battery-horse-staple"

    private func open(_ path: String, at home: Installation) async throws -> HTTPReply {
        let page = try await home.call("GET", path)
        #expect(page.status == 200 && page.header("Content-Type") == "text/html; charset=utf-8", "\(page.text)")
        #expect(page.header("Referrer-Policy") == "no-referrer" && page.header("Cache-Control") == "no-store")
        #expect(page.header("Content-Security-Policy")?.hasPrefix("default-src 'none'; ") == true)
        #expect(page.header("Content-Security-Policy")?.contains("script-src 'sha256-") == true)
        return page
    }

    @Test func `a new user verifies the address by the link, and to look at its page changes nothing`() async throws {
        let home = try await Installation.shared.value
        let mails = Mails(home: home)
        let ann = try await Person.register("ann", at: home)
        let token = try await mails.token("Confirm your e-mail address", to: ann.email)
        for _ in 0..<3 {
            let page = try await open("/verify/\(token)", at: home)
            #expect(!page.text.contains(token) && page.text.contains("/api/auth/email/verify"))
        }
        let page = try await open("/verify/\(token)?lang=de", at: home)
        #expect(page.text.contains("E-Mail-Adresse bestätigen"))
        #expect(try await ann.get("/api/users/me").data["email_verified"].bool == false)
        let verified = try await home.call("POST", "/api/auth/email/verify", json: "{\"token\":\"\(token)\"}")
        #expect(verified.status == 200, "\(verified.text)")
        #expect(try await ann.get("/api/users/me").data["email_verified"].bool == true)
        let again = try await home.call("POST", "/api/auth/email/verify", json: "{\"token\":\"\(token)\"}")
        #expect(again.status == 400 && again.code == "EMAIL_TOKEN_USED")
        let ben = try await Person.register("ben", at: home)
        try await eventually("Ann is found by her address") {
            try await ben.get("/api/friends/search?q=\(ann.email)").text.contains(ann.id)
        }
        #expect(!home.logs.contains(token), "no token is in a log")
    }

    @Test func `a password is set by a link, in the user's language, and every device is signed out`() async throws {
        let home = try await Installation.shared.value
        let mails = Mails(home: home)
        var cem = try await Person.register("cem", at: home)
        let german = try await home.call("PUT", "/api/users/me", token: cem.token, json: "{\"locale\":\"de-AT\"}")
        #expect(german.data["locale"].string == "de-AT", "\(german.text)")
        let unknown = "\(Person.unique("unknown"))@example.com"
        let answers = try await [cem.email, unknown].asyncMap { email in
            try await home.call("POST", "/api/auth/password/forgot", json: "{\"email\":\(quoted(email))}")
        }
        #expect(answers.allSatisfy { $0.status == 202 } && answers[0].dataText == answers[1].dataText)
        let mail = try await mails.newest("Setze ein neues Passwort", to: cem.email)
        #expect(mail.text.contains("?lang=de") && mail.text.contains("Content-Language: de"))
        let token = try #require(mail.token)
        #expect(try await open("/reset/\(token)", at: home).text.contains("name=\"new_password\""))
        func reset(_ token: String) async throws -> HTTPReply {
            try await Person.patiently {
                try await home.call(
                    "POST",
                    "/api/auth/password/reset",
                    json: "{\"token\":\"\(token)\",\"new_password\":\"\(newPassword)\"}"
                )
            }
        }
        let done = try await reset(token)
        #expect(done.status == 200 && done.data["sessions_ended"].int == 1, "\(done.text)")
        #expect(try await cem.get("/api/users/me").status == 401, "with the reply every gateway knows")
        #expect(try await reset(token).code == "EMAIL_TOKEN_USED")
        let login = try await Person.patiently {
            try await home.call(
                "POST",
                "/api/auth/login",
                json: "{\"email\":\(quoted(cem.email)),\"password\":\"\(newPassword)\"}"
            )
        }
        try cem.take(login, 200)
        try await eventually("he is informed") {
            mails.all(to: cem.email).contains { $0.text.contains("Das Passwort deines StreakSnap-Kontos") }
        }
        #expect(mails.all(to: unknown).isEmpty)
        #expect(!home.logs.contains(token) && !home.logs.contains(newPassword))
    }

    @Test func `a change of address is confirmed on the new and announced on the old one`() async throws {
        let home = try await Installation.shared.value
        let mails = Mails(home: home)
        let dan = try await Person.register("dan", at: home)
        let new = "\(Person.unique("dan"))@example.org"
        let asked = try await home.call(
            "PUT",
            "/api/users/me/email",
            token: dan.token,
            json: "{\"email\":\(quoted(new)),\"password\":\"\(Person.password)\"}"
        )
        #expect(asked.status == 202 && asked.data["pending_email"].string == new, "\(asked.text)")
        let token = try await mails.token("Confirm your new e-mail address", to: new)
        let confirmed = try await home.call("POST", "/api/auth/email/verify", json: "{\"token\":\"\(token)\"}")
        #expect(confirmed.data["email_changed"].bool == true, "\(confirmed.text)")
        #expect(try await dan.get("/api/users/me").data["email"].string == new)
        let notice = try await mails.newest("Your e-mail address was changed", to: dan.email)
        #expect(!notice.text.contains(new) && notice.text.contains("@example.org"))
    }

    @Test func `a deletion is announced, and the export says which mails were sent`() async throws {
        let home = try await Installation.shared.value
        let mails = Mails(home: home)
        let eve = try await Person.register("eve", at: home)
        _ = try await mails.newest("Confirm your e-mail address", to: eve.email)
        try await eventually("it is noted as sent") {
            try await eve.get("/api/users/me/export").json["notifications"]["mails"][0]["state"].string == "sent"
        }
        let mail = try await eve.get("/api/users/me/export").json["notifications"]["mails"][0]
        #expect(mail["address"].isNull, "deleted when it was sent")
        let deleted = try await home.call(
            "DELETE",
            "/api/auth/account",
            token: eve.token,
            json: "{\"password\":\"\(Person.password)\"}"
        )
        #expect(deleted.status == 200, "\(deleted.text)")
        _ = try await mails.newest("Your account will be deleted", to: eve.email)
    }

    @Test func `phones are not sent to an app that is not configured`() async throws {
        let home = try await Installation.shared.value
        for file in ["apple-app-site-association", "assetlinks.json"] {
            let reply = try await home.call("GET", "/.well-known/\(file)")
            #expect(reply.status == 404 && reply.code == "NOT_FOUND", "\(reply.text)")
            BadInputTests.expectEnvelope(reply)
        }
    }
}

extension [String] {
    /// One after the other.
    fileprivate func asyncMap<Result>(_ body: (String) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
