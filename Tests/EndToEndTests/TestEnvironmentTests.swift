import Foundation
import Kernel
import Processes
import TestSupport
import Testing

/// `streaksnap test-environment`: private systems for the tests of apps, by the protocol of `deploy/docs/test-kit.md`.
@Suite(.timeLimit(.minutes(3)))
struct TestEnvironmentTests {
    @Test func `a world is healthy, and people who are made friends have a streak`() async throws {
        let world = try await TestKit.shared.value.world()
        let health = try await world.call("GET", "/api/health")
        #expect(health.status == 200, "\(health.text)")
        let people = try await world.people(#"{"count": 3, "friends": true}"#)
        #expect(people.compactMap { $0["username"].string } == ["person1", "person2", "person3"])
        for person in people {
            let streaks = try await world.call("GET", "/api/streaks", by: person)
            #expect(streaks.data["streaks"].list.count == 2, "\(streaks.text)")
        }
        let ada = people[0]
        let email = try #require(ada["email"].string)
        let session = try await world.ask("POST", "tokens", #"{"email": "\#(email)", "password": "correct-horse-battery"}"#)
        #expect(session["user_id"] == ada["user_id"] && session["access_token"].string != nil)
    }

    @Test func `people are made when nothing is under way, and quiet is when what was done has been pushed`() async throws {
        // Outside of quiet hours.
        let world = try await TestKit.shared.value.world(#"{"clock": "2030-03-04T12:00:00Z"}"#)
        let people = try await world.people(#"{"count": 2, "friends": true, "push": true}"#)
        let pushes = { try await world.ask("GET", "pushes")["pushes"].list }
        #expect(try await pushes().isEmpty)
        let mails = try await world.ask("GET", "mails")["mails"].list.compactMap { $0["to"].string }
        #expect(Set(mails) == ["person1@example.com", "person2@example.com"], "those that verify the addresses are there")
        // Nothing comes later either.
        _ = try await world.ask("POST", "quiet")
        #expect(try await pushes().isEmpty)

        let third = try #require(try await world.people().first)
        let username = try #require(people[0]["username"].string)
        let asked = try await world.call("POST", "/api/friends/request", by: third, #"{"username": "\#(username)"}"#)
        #expect((200..<300).contains(asked.status), "\(asked.text)")
        _ = try await world.ask("POST", "quiet")
        #expect(try await pushes().map { $0["to"].string } == [people[0]["push_token"].string], "without waiting for it")
        // A slow database is a fault that a test wants: it is not waited for.
        _ = try await world.ask("PUT", "database", #"{"away": true}"#)
        _ = try await world.ask("POST", "quiet")
        _ = try await world.ask("PUT", "database", "{}")
    }

    @Test func `where registrations are private, people are made by the links in their mails`() async throws {
        // Quotas of two services, each of which refuses those of the other.
        let settings = #"{"auth.private-registration": "true", "quotas": "report=9000,habit_completion=500000"}"#
        let world = try await TestKit.shared.value.world(#"{"settings": \#(settings)}"#)
        let ada = try #require(try await world.people().first)
        let me = try await world.call("GET", "/api/users/me", by: ada)
        #expect(me.status == 200 && me.data["email_verified"].bool == true, "\(me.text)")
        _ = try await world.ask("DELETE", "mails")
        let (email, password) = (try #require(ada["email"].string), "correct-horse-battery")
        for address in [email, "new@example.com"] {
            let asked = try await world.call(
                "POST",
                "/api/auth/register",
                #"{"email": "\#(address)", "password": "\#(password)"}"#
            )
            #expect(asked.status == 202 && asked.data["status"].string == "check_mail", "\(asked.text)")
        }
        _ = try await world.ask("POST", "quiet")
        let mails = try await world.ask("GET", "mails")["mails"].list
        let subjects = Dictionary(mails.map { ($0["to"].string ?? "", $0["subject"].string ?? "") }) { $1 }
        #expect(subjects == [email: "You have an account already", "new@example.com": "Complete your registration"])
    }

    @Test func `two worlds know nothing of each other`() async throws {
        let kit = try await TestKit.shared.value
        let (first, second) = (try await kit.world(), try await kit.world())
        let ada = try #require(try await first.people().first)
        #expect(try await first.call("GET", "/api/users/me", by: ada).status == 200)
        // Neither the token nor the account is worth anything next door, where the same address is free.
        #expect(try await second.call("GET", "/api/users/me", by: ada).status == 401)
        let other = try #require(try await second.people().first)
        #expect(other["email"] == ada["email"] && other["user_id"] != ada["user_id"])
        let before = try await second.ask("GET", "clock")["now"].string
        _ = try await first.ask("PUT", "clock", #"{"advance_seconds": 864000}"#)
        let after = try await second.ask("GET", "clock")["now"].string
        let passed = try Self.instant(after) - Self.instant(before)
        #expect(passed < .days(1))
    }

    @Test func `the clock moves, and what became due is done`() async throws {
        let start = SystemClock.now() + .days(40)
        let world = try await TestKit.shared.value.world(#"{"clock": "\#(start)"}"#)
        let shown = try Self.instant(try await world.ask("GET", "clock")["now"].string)
        #expect(shown >= start && shown < start + .minutes(5))
        let moved = try await world.ask("PUT", "clock", #"{"now": "\#(start + .days(3))"}"#)["now"].string
        #expect(try Self.instant(moved) >= start + .days(3))
        // The services go by it too: a token of before has expired.
        let ada = try #require(try await world.people().first)
        #expect(try await world.call("GET", "/api/users/me", by: ada).status == 200)
        _ = try await world.ask("PUT", "clock", #"{"advance_seconds": 7200}"#)
        #expect(try await world.call("GET", "/api/users/me", by: ada).status == 401)
        let back = try await world.kit.ask("PUT", "/worlds/\(world.id)/clock", #"{"now": "\#(start)"}"#)
        #expect(back.status == 400 && back.json["error"]["field"].string == "now", "\(back.text)")
    }

    @Test func `pushes and mails that leave a world are seen, and faults of those who take them`() async throws {
        let world = try await TestKit.shared.value.world()
        let ada = try #require(try await world.people(#"{"push": true}"#).first)
        let token = try #require(ada["push_token"].string)
        #expect(try await world.call("POST", "/api/notifications/test", by: ada).status == 200)
        let to = try #require(token.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let pushes = try await world.ask("GET", "pushes?at_least=1&within_seconds=30&to=\(to)")["pushes"].list
        #expect(pushes.first?["to"].string == token && pushes.first?["title"].string?.isEmpty == false, "\(pushes)")

        let email = try #require(ada["email"].string)
        _ = try await world.ask("DELETE", "mails")
        let forgot = try await world.call("POST", "/api/auth/password/forgot", #"{"email": "\#(email)"}"#)
        #expect(forgot.status < 300, "\(forgot.text)")
        let mails = try await world.ask("GET", "mails?at_least=1&within_seconds=30&to=\(email)")["mails"].list
        let mail = try #require(mails.first)
        #expect(mail["to"].string == email && mail["subject"].string?.isEmpty == false)
        #expect(mail["text"].string?.contains("http://127.0.0.1:") == true, "\(mail)")
        let refusal = try await world.ask("PUT", "mail", #"{"refuses": "permanently"}"#)
        #expect(refusal["refuses"].string == "permanently")
    }

    @Test func `a purchase makes premium, and an Apple token signs in`() async throws {
        let world = try await TestKit.shared.value.world()
        let ada = try #require(try await world.people().first)
        let user = try #require(ada["user_id"].string)
        _ = try await world.ask("POST", "purchases", #"{"user_id": "\#(user)", "product_id": "premium_monthly"}"#)
        try await eventually("she has premium") {
            try await world.call("GET", "/api/billing/entitlements", by: ada).data["is_premium"].bool == true
        }
        let apple = try await world.ask("POST", "apple-tokens", #"{"subject": "001.ben", "email": "ben@example.com"}"#)
        let identity = try #require(apple["identity_token"].string)
        let signedIn = try await world.call("POST", "/api/auth/apple", #"{"identity_token": "\#(identity)"}"#)
        #expect((200..<300).contains(signedIn.status) && signedIn.data["access_token"].string != nil, "\(signedIn.text)")
    }

    @Test func `a stopped service is UNAVAILABLE and comes back, and so does the database`() async throws {
        let world = try await TestKit.shared.value.world()
        let ada = try #require(try await world.people().first)
        _ = try await world.ask("POST", "services/streaks/stop")
        let away = try await world.call("GET", "/api/streaks", by: ada)
        #expect(away.status == 503 && away.code == "UNAVAILABLE", "\(away.text)")
        _ = try await world.ask("POST", "services/streaks/start")
        try await eventually("streaks answers again") { try await world.call("GET", "/api/streaks", by: ada).status == 200 }

        _ = try await world.ask("PUT", "database", #"{"delay_ms": 300}"#)
        let began = ContinuousClock.now
        #expect(try await world.call("GET", "/api/users/me", by: ada).status == 200)
        #expect(ContinuousClock.now - began >= .milliseconds(300))
        _ = try await world.ask("PUT", "database", "{}")
    }

    @Test func `what is wrong with a request is named`() async throws {
        let kit = try await TestKit.shared.value
        for (path, body, field) in [
            ("/worlds", #"{"clock": "yesterday"}"#, "clock"), ("/worlds", #"{"clok": 1}"#, "clok"),
            ("/worlds", #"{"settings": {"nats.url": "x"}}"#, "settings.nats.url"),
            ("/worlds", #"{"settings": {"no.such": "x"}}"#, "settings.no.such"), ("/worlds", "[]", "body"),
            ("/worlds", #"{"settings": {"quotas": "place_pots=3"}}"#, "settings.quotas"),
            ("/worlds", #"{"clock": null, "clock": null}"#, "body"), ("/worlds", "{} {}", "body"), ("/worlds", "{", "body"),
        ] {
            let reply = try await kit.ask("POST", path, body)
            #expect(reply.status == 400 && reply.json["error"]["code"].string == "VALIDATION_ERROR", "\(body): \(reply.text)")
            #expect(reply.json["error"]["field"].string == field, "\(body): \(reply.text)")
        }
        #expect(try await kit.ask("GET", "/worlds/w0").status == 404)
        #expect(try await kit.ask("PATCH", "/worlds").status == 405)
    }

    @Test func `nothing of it runs after kill -9, nor after the end of its tests, and nothing is left`() async throws {
        let killed = try await TestKit(["--worlds-kept-warm", "0"])
        let folders = {
            try FileManager.default.contentsOfDirectory(atPath: killed.folder.path).filter { $0.hasPrefix("streaksnap-test-") }
        }
        // Of a killed one nothing stays outside of its folder.
        let memory = { ProcessTree.children(of: killed.child.pid).map { ProcessFiles.text($0, "maps") }.joined() }
        try await eventually("PostgreSQL's memory is in its folder") { memory().contains("/pg_dynshmem/mmap.") }
        #expect(!memory().contains("/dev/shm/PostgreSQL."))
        killed.child.signal(SIGKILL)
        try await Self.expectNothingRuns(of: killed)
        let left = try folders()
        #expect(left.count == 1)
        // The next one removes what the killed one could not.
        let next = try await TestKit(["--worlds-kept-warm", "0"], in: killed.folder)
        let own = try folders()
        #expect(own.count == 1 && own != left)
        next.endInput()
        try await Self.expectNothingRuns(of: next)
        let rest = try folders()
        #expect(rest.isEmpty)
    }

    /// Waits until it has ended, and all that it had started.
    private static func expectNothingRuns(of kit: TestKit) async throws {
        #expect(Set(kit.servers.values).isSuperset(of: ["nats-server", "postgres"]), "\(kit.servers)")
        _ = await kit.child.waitForExit()
        try await eventually("its servers are gone") { kit.servers.keys.allSatisfy { ProcessTree.name(of: $0).isEmpty } }
    }

    private static func instant(_ text: String?) throws -> Instant {
        try #require(text.flatMap { Instant(rfc3339: $0) }, "\(text ?? "nothing") is no time")
    }
}
