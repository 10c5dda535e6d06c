import Bus
import Foundation
import Logging
import Testing

/// What happens when time passes, by the development clock (PF-7). One after the other: all share the clock.
@Suite(.serialized) struct ClockTests {
    private func clock(_ json: String? = nil) async throws -> HTTPReply {
        try await Installation.timeTravelling.value.call(json == nil ? "GET" : "POST", "/api/dev/clock", json: json)
    }

    private func advance(seconds: Int) async throws {
        let reply = try await clock("{\"advance_seconds\":\(seconds)}")
        try #require(reply.status == 200, "\(reply.text)")
    }

    private func now() async throws -> Date {
        let text = try #require(try await clock().data["now"].string)
        // Whole seconds are enough.
        return try Date(text.prefix(19) + "Z", strategy: .iso8601)
    }

    /// Noon UTC of tomorrow, so that a day has enough left.
    private func goToNoon() async throws {
        let noon = (try await now().timeIntervalSince1970 / 86_400).rounded(.down) * 86_400 + 86_400 + 43_200
        let reply = try await clock("{\"set\":\"\(Date(timeIntervalSince1970: noon).formatted(.iso8601))\"}")
        try #require(reply.status == 200, "\(reply.text)")
    }

    @Test func `without the option the clock cannot be seen or moved`() async throws {
        let home = try await Installation.shared.value
        for method in ["GET", "POST"] {
            let reply = try await home.call(method, "/api/dev/clock", json: method == "POST" ? "{\"advance_seconds\":60}" : nil)
            #expect(reply.status == 404)
            #expect(reply.code == "NOT_FOUND")
        }
    }

    @Test func `the clock is read and moved forward, never back`() async throws {
        let before = try await clock()
        #expect(before.status == 200)
        #expect(before.data.names == ["now", "offset_seconds"])
        let offset = try #require(before.data["offset_seconds"].int)
        let moved = try await clock("{\"advance_seconds\":90}")
        #expect(moved.status == 200, "\(moved.text)")
        #expect(abs((moved.data["offset_seconds"].int ?? 0) - offset - 90) <= 1)
        for wrong in [
            "{\"set\":\"2020-01-01T00:00:00Z\"}", "{\"advance_seconds\":-1}", "{}", "{\"set\":\"tomorrow\"}",
            "{\"set\":\"2030-01-01T00:00:00Z\",\"advance_seconds\":1}", "{\"advance_seconds\":\"1\"}",
        ] {
            let reply = try await clock(wrong)
            #expect(reply.status == 400, "\(wrong)")
            #expect(reply.code == "VALIDATION_ERROR", "\(wrong)")
        }
        #expect(try #require(try await clock().data["offset_seconds"].int) < offset + 3_600, "nothing of that moved it")
    }

    @Test func `steps that are asked for at once add up`() async throws {
        let before = try #require(try await clock().data["offset_seconds"].int)
        try await withThrowingTaskGroup(of: HTTPReply.self) { tasks in
            for _ in 0..<10 { tasks.addTask { try await clock("{\"advance_seconds\":100}") } }
            for try await reply in tasks { #expect(reply.status == 200, "\(reply.text)") }
        }
        #expect(try await clock().data["offset_seconds"].int == before + 1_000)
        let none = try await clock("{\"advance_seconds\":0}")
        #expect(none.status == 200 && none.data["offset_seconds"].int == before + 1_000, "\(none.text)")
    }

    @Test func `the clock is moved to the year 2100 at most, and there everything goes on`() async throws {
        let home = try await Installation(["--dev-clock"])
        for (field, json) in [
            ("set", "{\"set\":\"2100-01-01T00:00:01Z\"}"), ("set", "{\"set\":\"9999-12-31T23:59:59Z\"}"),
            ("advance_seconds", "{\"advance_seconds\":3153600000}"), ("advance_seconds", "{\"advance_seconds\":-1}"),
        ] {
            let reply = try await home.call("POST", "/api/dev/clock", json: json)
            #expect(
                reply.status == 400 && reply.fields == [field] && reply.text.contains("2100-01-01T00:00:00Z"),
                "\(reply.text)"
            )
        }
        try await home.travel(to: "2100-01-01T00:00:00Z")
        var (tim, uma) = (try await Person.register("tim", at: home), try await Person.register("uma", at: home))
        _ = try await tim.befriend(uma)
        #expect(try await tim.upload(try Photos.jpeg(75)).status == 201)
        #expect(try await uma.upload(try Photos.jpeg(76)).data["streaks"][0]["current_count"].int == 1)
        try await tim.signIn()
        try await uma.signIn()
        #expect(try await home.http.send("GET", try await tim.photoLink()).status == 200)
        await home.guardian.end()
    }

    @Test func `a service on the bus that knows no development clock does not hold it up`() async throws {
        let bus = try await Installation.timeTravelling.value.bus()
        let stranger = BusService(
            connection: bus,
            name: "stranger",
            version: "1.0.0",
            endpoints: [],
            logger: Logger(label: "stranger") { _ in SwiftLogNoOpLogHandler() }
        )
        try await stranger.start()
        let started = ContinuousClock.now
        try await advance(seconds: 1)
        #expect(ContinuousClock.now - started < .seconds(30))
        await stranger.drain()
        await bus.close()
    }

    @Test func `an access token lives for 15 minutes`() async throws {
        var person = try await Person.register("tim", at: try await Installation.timeTravelling.value)
        #expect(try await person.get("/api/users/me").status == 200)
        try await advance(seconds: 16 * 60)
        let reply = try await person.get("/api/users/me")
        #expect(reply.status == 401)
        #expect(reply.code == "TOKEN_EXPIRED")
        #expect(reply.header("WWW-Authenticate")?.contains("error=\"invalid_token\"") == true)
        // The published routes have a code of their own for it: the reason is the same everywhere.
        let published = try await person.get("/api/mobile/streaks/status")
        #expect(published.status == 401 && published.code == "UNAUTHORIZED", "\(published.text)")
        #expect(published.json["error"]["reason"].string == "TOKEN_EXPIRED", "\(published.text)")
        let refreshed = try await person.home.call(
            "POST",
            "/api/auth/refresh",
            json: "{\"refresh_token\":\"\(person.refreshToken)\"}"
        )
        try person.take(refreshed, 200)
        #expect(try await person.get("/api/users/me").status == 200)
    }

    @Test func `a missed day breaks the streak, and both are notified once`() async throws {
        let home = try await Installation.timeTravelling.value
        try await goToNoon()
        var (tim, uma) = (try await Person.register("tim", at: home), try await Person.register("uma", at: home))
        let streak = try await tim.befriend(uma)
        #expect(try await tim.upload(try Photos.jpeg(31)).status == 201)
        #expect(try await uma.upload(try Photos.jpeg(32)).data["streaks"][0]["current_count"].int == 1)

        try await advance(seconds: 86_400)
        try await tim.signIn()
        #expect(try await tim.upload(try Photos.jpeg(33)).status == 201)
        let waiting = try await tim.get("/api/streaks/\(streak)").data["streak"]
        #expect(waiting["status"].string == "active")
        #expect(waiting["friend_posted_today"].bool == false)

        try await advance(seconds: 86_400)
        try await tim.signIn()
        try await uma.signIn()
        for person in [tim, uma] {
            let broken = try await person.get("/api/streaks/\(streak)").data["streak"]
            #expect(broken["status"].string == "broken")
            #expect(broken["broken_by_user_id"].string == uma.id)
            #expect(broken["longest_count"].int == 1)
            #expect(
                try await person.notifications("streak_broken").count == 1,
                "every due job has run when the clock's call returns"
            )
            #expect(try await person.get("/api/streaks").data["streaks"].list.isEmpty)
        }
        #expect(try await tim.upload(try Photos.jpeg(34), to: streak).code == "STREAK_NOT_ACTIVE")
        try await advance(seconds: 86_400)
        try await tim.signIn()
        #expect(try await tim.notifications("streak_broken").count == 1)
    }

    @Test func `a link to a photo expires after a day`() async throws {
        let home = try await Installation.timeTravelling.value
        let (tim, uma) = (try await Person.register("tim", at: home), try await Person.register("uma", at: home))
        try await tim.befriend(uma)
        let posted = try await tim.upload(try Photos.jpeg(35))
        let url = try #require(posted.data["snap"]["photo_url"].string.flatMap { URL(string: $0) })
        let target = url.path + "?" + (url.query ?? "")
        try await advance(seconds: 23 * 3_600)
        #expect(try await home.http.send("GET", target).status == 200)
        try await advance(seconds: 2 * 3_600)
        let expired = try await home.http.send("GET", target)
        #expect(expired.status == 403)
        #expect(expired.code == "LINK_EXPIRED")
    }
}
