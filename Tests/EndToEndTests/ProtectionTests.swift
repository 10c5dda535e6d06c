import Foundation
import Processes
import TestSupport
import Testing

/// What protects a user has its effect when it is answered (D21), whichever process is killed or frozen.
extension RestartTests {
    /// Ends a friendship; always with the same key.
    private func unfriend(_ person: Person, _ friendship: String) async throws -> HTTPReply {
        try await person.home.call(
            "DELETE",
            "/api/friends/\(friendship)",
            token: person.token,
            headers: [("Idempotency-Key", "unfriend-\(friendship)")]
        )
    }

    private func friendship(_ one: Person, _ two: Person) async throws -> String {
        try await one.home.sql(
            """
            SELECT id FROM social.friendship WHERE user_low = least('\(one.id)'::uuid, '\(two.id)'::uuid)
                AND user_high = greatest('\(one.id)'::uuid, '\(two.id)'::uuid)
            """
        )
    }

    /// Three who are friends: the first of each of the others.
    private func friends(_ home: Installation) async throws -> (
        Person, former: Person, friend: Person, ended: String, kept: String
    ) {
        let (ann, ben, cat) = (
            try await register("ann", at: home), try await register("ben", at: home), try await register("cat", at: home)
        )
        // Another test may have killed them just now.
        for path in ["/api/streaks", "/api/photos/feed", "/api/notifications"] {
            try await eventually("\(path) is answered") { try await ann.get(path).status == 200 }
        }
        let ended = try await ann.befriend(ben)
        let kept = try await ann.befriend(cat)
        return (ann, ben, cat, ended, kept)
    }

    /// The replicas of the service that hold a lease on a stream.
    private func holder(of feature: String, in service: String, _ home: Installation) async throws -> String {
        try await home.sql(
            "SELECT holder FROM \(service).consumer_lease WHERE feature = '\(feature)' AND stream = 'EVT_SOCIAL' AND held_until > now()"
        )
    }

    @Test
    func `a photo posted after unfriending never reaches the former friend, also when those who hold the leases are killed`()
        async throws
    {
        let home = try await Installation.separate.value
        let second = [try await home.replica(of: "streaks"), try await home.replica(of: "media")]
        defer { for child in second { child.signal(SIGKILL) } }
        for round in 0..<3 {
            let (ann, ben, cat, ended, kept) = try await friends(home)
            let friendship = try await friendship(ann, ben)
            let holders = try await holder(of: "mutual", in: "streaks", home)
            // The replica of `up` reads first, and goes on reading until it is killed; afterwards either may.
            for name in ["streaks", "media"] {
                let pid = try #require(home.process(of: name))
                kill(pid, SIGKILL)
            }
            let reply = try await insist("unfriending") { try await unfriend(ann, friendship) }
            #expect(reply.status == 200)
            let posted = try await insist("the photo") { try await ann.upload(try Photos.jpeg(UInt64(70 + round)), key: "photo") }
            #expect(posted.data["streaks"].list.compactMap { $0["streak_id"].string } == [kept], "\(posted.text)")
            let snap = try #require(posted.data["snap"]["id"].string)
            #expect(try await ben.get("/api/photos/feed").text.contains(snap) == false)
            let counted = try await home.sql(
                "SELECT count(*) FROM streaks.contribution WHERE streak_id = '\(ended)' AND user_id = '\(ann.id)'"
            )
            #expect(counted == "0")
            #expect(try await cat.get("/api/photos/feed").text.contains(kept))
            if round == 0 { #expect(try await holder(of: "mutual", in: "streaks", home) != holders, "the holder was killed") }
            for name in ["streaks", "media"] {
                try await eventually("\(name) is started again") { home.process(of: name) != nil }
            }
        }
    }

    @Test func `while who must apply it is frozen unfriending is UNAVAILABLE, and a repeat is answered when it has its effect`()
        async throws
    {
        let home = try await Installation.separate.value
        let (ann, ben, _, ended, kept) = try await friends(home)
        let friendship = try await friendship(ann, ben)
        let pid = try #require(home.process(of: "streaks"))
        kill(pid, SIGSTOP)
        defer { kill(pid, SIGCONT) }
        for _ in 0..<2 {
            // Not by `call`, which would make the change again.
            let token = ("Authorization", "Bearer \(ann.token)")
            let reply = try await home.http.send("DELETE", "/api/friends/\(friendship)", headers: [token])
            #expect(reply.status == 503 && reply.code == "UNAVAILABLE", "\(reply.text)")
            #expect(reply.header("Retry-After") == "2")
        }
        #expect(try await home.sql("SELECT count(*) FROM streaks.streak WHERE id = '\(ended)' AND status = 3") == "0")
        kill(pid, SIGCONT)
        let reply = try await insist("unfriending") { try await unfriend(ann, friendship) }
        #expect(reply.status == 200 && reply.data["friendship_id"].string == friendship)
        let posted = try await insist("the photo") { try await ann.upload(try Photos.jpeg(79), key: "photo") }
        #expect(posted.data["streaks"].list.compactMap { $0["streak_id"].string } == [kept], "\(posted.text)")
    }

    @Test func `a block and a deletion have their effect when they are answered`() async throws {
        let home = try await Installation.separate.value
        let (ann, ben, cat, ended, _) = try await friends(home)
        let blocked = try await ann.post("/api/blocks", "{\"user_id\":\"\(ben.id)\"}", key: "block")
        try #require(blocked.status < 300, "\(blocked.text)")
        for schema in ["auth", "streaks", "media", "notifications"] {
            let rows = try await home.sql(
                "SELECT count(*) FROM \(schema).block_replica WHERE blocker = '\(ann.id)' AND blocked = '\(ben.id)' AND active"
            )
            #expect(rows == "1", "\(schema)")
        }
        // 3: it has ended.
        #expect(try await home.sql("SELECT status FROM streaks.streak WHERE id = '\(ended)'") == "3")
        let deleted = try await cat.delete()
        try #require(deleted.status < 300, "\(deleted.text)")
        for schema in ["social", "streaks", "media", "notifications"] {
            let rows = try await home.sql(
                "SELECT count(*) FROM \(schema).profile_replica WHERE user_id = '\(cat.id)' AND status = 1"
            )
            #expect(rows == "0", "\(schema)")
        }
        let friends = try await ann.get("/api/friends")
        #expect(friends.status == 200 && friends.data["friends"].list.isEmpty, "\(friends.text)")
    }
}
