import Foundation
import TestSupport
import Testing

/// Seven processes, any of which may be killed at any time (D6, D12). One after the other: they share the processes.
@Suite(.serialized) struct RestartTests {
    static let services = ["auth", "social", "streaks", "media", "notifications", "billing", "gateway"]

    /// `kill -9`, and waits until it has been started again.
    func killed(_ name: String, of home: Installation) async throws {
        var first: pid_t?
        try await eventually("\(name) runs") {
            first = home.process(of: name)
            return first != nil
        }
        let pid = try #require(first)
        #expect(kill(pid, SIGKILL) == 0)
        try await eventually("\(name) is started again") {
            guard let next = home.process(of: name) else { return false }
            return next != pid
        }
    }

    /// Repeats like a client does that has no answer, or one that says to come again; always with the same key.
    func insist(_ what: Comment, _ send: @Sendable () async throws -> HTTPReply) async throws -> HTTPReply {
        var last: HTTPReply?
        try await eventually("\(what) is answered, last by \(last?.text ?? "nothing")", within: .seconds(60)) {
            guard let reply = try? await send() else { return false }
            last = reply
            return reply.status < 500 && reply.code != "REQUEST_IN_PROGRESS"
        }
        let reply = try #require(last)
        try #require(reply.status < 300, "\(what): \(reply.text)")
        return reply
    }

    func register(_ name: String, at home: Installation) async throws -> Person {
        var person = Person(home: home, username: Person.unique(name))
        let (registration, key) = (person.registration(), "register-\(person.username)")
        let reply = try await insist("registering") {
            try await home.call("POST", "/api/auth/register", json: registration, headers: [("Idempotency-Key", key)])
        }
        try person.take(reply, 201)
        let registered = person
        _ = try await insist("accepting the terms") { try await registered.acceptTerms(key: "terms") }
        return person
    }

    /// Whether a person has their streak; no, while a gateway that was killed does not listen yet.
    func hasStreak(_ person: Person) async -> Bool {
        guard let reply = try? await person.get("/api/streaks") else { return false }
        return reply.data["streaks"].list.count == 1
    }

    /// The two of each journey, for the last look.
    private static let travellers = Travellers()

    private actor Travellers {
        private(set) var all: [(Person, Person)] = []
        func add(_ pair: (Person, Person)) { all.append(pair) }
    }

    @Test(arguments: services) func `a service that is killed in the middle loses nothing`(service: String) async throws {
        let home = try await Installation.separate.value
        let first = Task { try await killed(service, of: home) }
        let (kai, lou) = (try await register("kai", at: home), try await register("lou", at: home))
        try await first.value
        let asked = try await insist("asking") { try await kai.request(lou, key: "ask") }
        let friendship = try #require(asked.data["friendship_id"].string)

        let second = Task { try await killed(service, of: home) }
        let accepted = try await insist("accepting") { try await lou.respond(friendship, key: "accept") }
        #expect(accepted.data["status"].string == "accepted")
        try await second.value
        // The streak begins with the reply or, when its service was away, in a moment.
        try await eventually("a streak has begun") { await hasStreak(kai) }

        let third = Task { try await killed(service, of: home) }
        let (one, two) = (try Photos.jpeg(51), try Photos.png(52))
        let posted = try await insist("Kai's photo") { try await kai.upload(one, key: "photo") }
        #expect(posted.data["streaks"][0]["accepted"].bool == true)
        try await third.value
        let answered = try await insist("Lou's photo") { try await lou.upload(two, key: "photo") }
        #expect(answered.data["streaks"][0]["current_count"].int == 1)
        #expect(
            try await insist("Kai's photo again") { try await kai.upload(one, key: "photo") }.data["snap"]["id"]
                == posted.data["snap"]["id"]
        )
        try await isWhole(kai, lou)
        await Self.travellers.add((kai, lou))
    }

    /// Nothing that was acknowledged is missing, and nothing happened twice.
    private func isWhole(_ kai: Person, _ lou: Person) async throws {
        for (person, kinds) in [(kai, ["friend_accepted", "friend_posted"]), (lou, ["friend_posted", "friend_request"])] {
            try await eventually("\(person.username) is notified of \(kinds)", within: .seconds(60)) {
                guard let reply = try? await person.get("/api/notifications"), reply.status == 200 else { return false }
                return reply.data["notifications"].list.compactMap { $0["type"].string }.sorted() == kinds
            }
            let streaks = try await insist("the list of streaks") { try await person.get("/api/streaks") }.data["streaks"].list
            #expect(streaks.count == 1)
            #expect(streaks.first?["current_count"].int == 1)
            try await eventually("the feed shows both photos") {
                guard let item = try? await person.get("/api/photos/feed").data["items"][0] else { return false }
                return item["friend_snap"]["id"].string != nil && item["your_snap"]["id"].string != nil
            }
            try await eventually("the profile counts one streak and one photo", within: .seconds(60)) {
                guard let stats = try? await person.get("/api/users/me").data["stats"] else { return false }
                return stats["total_active_streaks"].int == 1 && stats["total_photos"].int == 1
            }
            #expect(try await person.home.sql("SELECT count(*) FROM media.snap WHERE user_id = '\(person.id)'") == "1")
        }
    }

    @Test func `long after the kills everything is still there, once`() async throws {
        let home = try await Installation.separate.value
        try await eventually("every event has been published") {
            let queries = ["auth", "social", "streaks", "media"].map {
                "SELECT count(*) FROM \($0).outbox WHERE published_at IS NULL"
            }
            return try await home.sql("SELECT sum(count) FROM (\(queries.joined(separator: " UNION ALL "))) AS waiting") == "0"
        }
        let pairs = await Self.travellers.all
        for (kai, lou) in pairs { try await isWhole(kai, lou) }
        #expect(try await home.sql("SELECT count(*) FROM media.snap_operation WHERE state = 1") == "0")
    }

    @Test func `a session that ended stays ended when the gateway starts anew`() async throws {
        let home = try await Installation.separate.value
        let person = try await register("max", at: home)
        #expect(try await person.post("/api/auth/logout").status == 200)
        for _ in 0..<3 {
            try await killed("gateway", of: home)
            // Its first judgement of the token is the right one.
            var first: HTTPReply?
            try await eventually("the gateway judges the token") {
                guard let reply = try? await person.get("/api/users/me"), reply.status < 500 else { return false }
                first = reply
                return true
            }
            #expect(first?.status == 401)
            #expect(first?.code == "SESSION_REVOKED")
        }
    }

    @Test func `a service that does not answer is named by readyz`() async throws {
        let home = try await Installation.separate.value
        try await eventually("every service answers") {
            try await home.call("GET", "/readyz").status == 200
        }
        let pid = try #require(home.process(of: "billing"))
        kill(pid, SIGSTOP)
        defer { kill(pid, SIGCONT) }
        try await eventually("readyz says who is missing") {
            let reply = try await home.call("GET", "/readyz")
            return reply.status == 503 && reply.text == "billing does not answer\n"
        }
        let health = try await home.call("GET", "/api/health")
        #expect(health.json["status"].string == "degraded")
        #expect(health.json["unavailable"].list.compactMap(\.string) == ["billing"])
        kill(pid, SIGCONT)
        try await eventually("it answers again") { try await home.call("GET", "/readyz").status == 200 }
    }
}
