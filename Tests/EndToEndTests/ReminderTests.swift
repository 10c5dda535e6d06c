import Foundation
import Kernel
import Processes
import StreaksDomain
import TestSupport
import Testing

/// Reminders of a day, from the clock to the log (PW-2, NO-5). One after the other: all share the clock.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ReminderTests {
    /// Moves the clock to a time of day, UTC: today's if that lies ahead, else tomorrow's. - Returns: the date.
    @discardableResult
    private func go(to time: String, of home: Installation) async throws -> String {
        let text = try #require(try await home.call("GET", "/api/dev/clock").data["now"].string)
        let now = try #require(Instant(rfc3339: text))
        let today = try #require(Instant(rfc3339: text.prefix(10) + "T\(time)Z"))
        let target = today > now ? today : today + .days(1)
        try await home.travel(to: "\(target)")
        return String("\(target)".prefix(10))
    }

    private func emitted(_ event: String, _ person: Person) async throws -> Int {
        let count = try await person.home.sql(
            "SELECT count(*) FROM streaks.outbox WHERE aggregate = '\(person.id)' AND subject = 'evt.streaks.v1.\(event)'"
        )
        return try #require(Int(count.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// A user whose push comes before 11:40 on three dates, so that on a slow machine too the window is open when the job runs.
    private func earlyRiser(_ name: String, from date: CalendarDate, at home: Installation) async throws -> Person {
        for _ in 0..<60 {
            let person = try await Person.register(name, at: home)
            let user = try #require(UserID(person.id))
            let isEarly = (0..<3).allSatisfy { days in
                let date = date.advanced(by: days)
                let window = SnapWindow(startHour: SnapWindow.defaultStartHour, on: date, in: .utc)
                return window.pushAt(user: user, on: date) < window.closesAt - .minutes(20)
            }
            if isEarly { return person }
        }
        throw Guardian.Failure(description: "no one is early")
    }

    @Test func `each reminder of a day comes once: the window, its end, the streak at risk, and midnight ends it`() async throws {
        let home = try await Installation(["--dev-clock"])
        let first = try #require(CalendarDate(try await go(to: "08:00:00", of: home)))
        var (ann, ben) = (try await earlyRiser("ann", from: first, at: home), try await Person.register("ben", at: home))
        try await ann.befriend(ben)
        #expect(try await ann.upload(try Photos.jpeg(601)).status == 201)
        #expect(try await ben.upload(try Photos.jpeg(602)).data["streaks"][0]["current_count"].int == 1)
        try await go(to: "11:45:00", of: home)
        try await ann.signIn()
        #expect(try await ann.notifications("daily_window").isEmpty, "no friend waits for a user who has posted")
        #expect(try await emitted("SnapWindowOpened", ann) == 1)

        // The next day neither posts before the evening.
        let date = try await go(to: "11:45:00", of: home)
        try await ann.signIn()
        let window = try await ann.notifications("daily_window")
        #expect(window.count == 1)
        #expect(window.first?["title"].string == "📸 Time to snap!")
        let prompt = DailyPrompt.of(try #require(CalendarDate(date)))
        #expect(window.first?["body"].string == "\(prompt.emoji) \(prompt.text) — ben is waiting!")
        try await go(to: "20:59:00", of: home)
        try await ben.signIn()
        #expect(try await ben.upload(try Photos.jpeg(603)).status == 201)
        try await go(to: "21:00:00", of: home)
        try await ann.signIn()
        try await ben.signIn()
        let risk = try await ann.notifications("streak_at_risk")
        #expect(risk.count == 1)
        #expect(risk.first?["body"].string == "Your 1-day streak with ben expires in 3 hours!")
        #expect(risk.first?["streak_id"].string != nil && risk.first?["actor_id"].string == ben.id)
        #expect(try await ben.notifications("streak_at_risk").isEmpty, "Ben has posted")
        try await go(to: "23:30:00", of: home)
        try await go(to: "00:05:00", of: home)
        try await ann.signIn()
        #expect(try await ann.notifications("streak_at_risk").count == 1)
        #expect(try await ann.notifications("streak_broken").count == 1)
        try await go(to: "11:45:00", of: home)
        #expect(try await emitted("SnapWindowOpened", ann) == 2, "without a running streak there is no reminder")
        await home.guardian.end()
    }

    @Test func `killed in the middle of the job, nothing is lost and nothing emitted twice`() async throws {
        let home = try await Installation(["--dev-clock", "--separate"])
        let restarts = RestartTests()
        let date = try #require(CalendarDate(try await go(to: "08:00:00", of: home)))
        // Those whose push comes early enough for the window to be open still when a killed service is back, on a slow machine too.
        let window = SnapWindow(startHour: SnapWindow.defaultStartHour, on: date, in: .utc)
        var people: [Person] = []
        for index in 0..<60 where people.count < 6 {
            let person = try await restarts.register("k\(index)", at: home)
            let user = try #require(UserID(person.id))
            if window.pushAt(user: user, on: date) < window.closesAt - .minutes(50) { people.append(person) }
        }
        let pairs = stride(from: 0, to: 6, by: 2).map { (people[$0], people[$0 + 1]) }
        for (one, two) in pairs { try await one.befriend(two) }
        // A writer to the outbox waits here, in the middle of the transaction.
        let holder = try await hold(home)
        let moved = Task { try await go(to: "11:15:00", of: home) }
        try await eventually("the job has come to its first event") {
            try await home.sql(
                """
                SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name LIKE '%streaks%' AND wait_event_type = 'Lock'
                AND query LIKE '%INSERT INTO outbox%'
                """
            ) == "t"
        }
        try await restarts.killed("streaks", of: home)
        _ = try await home.sql(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE query LIKE '%held by a test%' AND pid <> pg_backend_pid()
            """
        )
        _ = await holder.waitForExit()
        _ = try? await moved.value
        for (one, two) in pairs {
            for person in [one, two] {
                try await eventually("\(person.username) has the event") { try await emitted("SnapWindowOpened", person) == 1 }
            }
        }
        let twice = try await home.sql(
            """
            SELECT count(*) FROM (SELECT FROM streaks.outbox WHERE subject LIKE '%SnapWindow%'
                GROUP BY aggregate, subject HAVING count(*) > 1) AS twice
            """
        )
        #expect(twice == "0")
        for (one, two) in pairs {
            for var person in [one, two] {
                try await eventually("\(person.username) can sign in") { (try? await person.signIn()) != nil }
                let reader = person
                try await eventually("\(reader.username) reads it") { try await reader.notifications("daily_window").count == 1 }
            }
        }
        await home.guardian.end()
    }

    /// Keeps all from writing to the outbox of `streaks`, until it is terminated.
    private func hold(_ home: Installation) async throws -> ChildProcess {
        let statement = "BEGIN; LOCK TABLE streaks.outbox IN SHARE MODE; SELECT pg_sleep(120) /* held by a test */"
        let child = try await home.longSQL(statement)
        try await eventually("the outbox is held") {
            try await home.sql(
                "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%held by a test%' AND wait_event = 'PgSleep'"
            ) == "t"
        }
        return child
    }

    @Test func `the window opens at the hour a person has chosen, also over midnight`() async throws {
        let home = try await Installation.shared.value
        let ann = try await Person.register("ann", at: home, zone: "UTC")
        #expect(try await ann.get("/api/users/me").data["window_start_hour"].int == 10)
        for hour in [0, 23] {
            let changed = try await home.call("PUT", "/api/users/me", token: ann.token, json: "{\"window_start_hour\":\(hour)}")
            #expect(changed.status == 200 && changed.data["window_start_hour"].int == hour, "\(changed.text)")
            try await eventually("the window has moved to \(hour)") {
                let window = try await ann.get("/api/prompts/today").data["window"]
                guard let opens = window["opens_at"].string.flatMap({ Instant(rfc3339: $0) }) else { return false }
                #expect(window["closes_at"].string.flatMap { Instant(rfc3339: $0) } == opens + .hours(2))
                return Zone.utc.secondOfDay(at: opens) == Int64(hour) * 3_600
            }
        }
        for bad in ["-1", "24", "\"ten\""] {
            let reply = try await home.call("PUT", "/api/users/me", token: ann.token, json: "{\"window_start_hour\":\(bad)}")
            #expect(reply.status == 400 && reply.fields == ["window_start_hour"], "\(reply.text)")
        }
        #expect(try await ann.get("/api/users/me").data["window_start_hour"].int == 23)
        #expect(try await ann.export().json["auth"]["account"][0]["window_start_hour"].int == 23)
    }

    @Test func `where the window is enforced, a snap outside it is refused before anything is stored`() async throws {
        let home = try await Installation(environment: ["STREAKSNAP_STREAKS_SNAP_WINDOW": "enforce"])
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        try await ann.befriend(ben)
        // Ann's window opens in eleven hours, Ben's opened just now.
        let hour = Int(try #require(Zone(home.zone)).secondOfDay(at: SystemClock.now()) / 3_600)
        for (person, start) in [(ann, (hour + 11) % 24), (ben, hour)] {
            let changed = try await home.call(
                "PUT",
                "/api/users/me",
                token: person.token,
                json: "{\"window_start_hour\":\(start)}"
            )
            try #require(changed.status == 200, "\(changed.text)")
            try await eventually("it is known") {
                try await home.sql(
                    "SELECT window_start_hour FROM streaks.profile_replica WHERE user_id = '\(person.id)'"
                ) == "\(start)"
            }
        }
        let refused = try await ann.upload(try Photos.jpeg(611))
        #expect(refused.status == 400)
        #expect(refused.code == "OUTSIDE_SNAP_WINDOW", "\(refused.text)")
        #expect(home.blobs(of: ann).isEmpty)
        #expect(try await home.sql("SELECT count(*) FROM media.snap") == "0")
        #expect(try await home.sql("SELECT count(*) FROM streaks.contribution") == "0")
        let taken = try await ben.upload(try Photos.jpeg(612))
        #expect(taken.status == 201 && taken.data["snap"]["on_time"].bool == true, "\(taken.text)")
        await home.guardian.end()
    }

    @Test func `a streak's own prompts over HTTP`() async throws {
        let home = try await Installation.shared.value
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        let streak = try await ann.befriend(ben)
        let path = "/api/streaks/\(streak)/prompts"
        func put(_ person: Person, _ json: String) async throws -> HTTPReply {
            try await home.call("PUT", path, token: person.token, json: json)
        }
        let none = try await ann.get(path)
        #expect(none.status == 200 && none.data["prompts"] == .array([]) && none.data["active"].bool == false, "\(none.text)")
        #expect(none.data["set_by_user_id"].isNull)
        let list = "{\"prompts\":[{\"text\":\"Our dog\",\"emoji\":\"🐶\"},{\"text\":\"  Our sofa \"}]}"
        let free = try await put(ann, list)
        #expect(free.status == 403 && free.code == "PREMIUM_REQUIRED", "\(free.text)")
        _ = try await home.sql(
            "INSERT INTO streaks.entitlement_replica (user_id, version, is_premium) VALUES ('\(ann.id)', 1, true)"
        )
        let set = try await put(ann, list)
        #expect(set.status == 200 && set.data["active"].bool == true, "\(set.text)")
        #expect(set.data["prompts"].list.map { $0["text"].string } == ["Our dog", "Our sofa"])
        #expect(set.data["prompts"][1]["emoji"].isNull)
        for person in [ann, ben] {
            let today = try await person.get("/api/prompts/today?streak_id=\(streak)").data
            #expect(today["category"].string == "custom")
            #expect([["Our dog", "🐶"], ["Our sofa", "📸"]].contains([today["text"].string, today["emoji"].string]), "\(today)")
            #expect(try await person.get("/api/prompts/today").data["category"].string != "custom")
        }
        for (bad, field) in [
            ("{\"prompts\":[]}", "prompts"), ("{\"prompts\":[{\"text\":\" \"}]}", "prompts[0].text"),
            ("{\"prompts\":[{\"text\":\"a\",\"emoji\":\"no\"}]}", "prompts[0].emoji"),
            ("{\"prompts\":[{\"text\":\"\(String(repeating: "x", count: 121))\"}]}", "prompts[0].text"),
        ] {
            let reply = try await put(ann, bad)
            #expect(reply.status == 400 && reply.fields == [field], "\(reply.text)")
        }
        #expect(try await ann.get("/api/prompts/today?streak_id=x").fields == ["streak_id"])
        let kept = try await ben.get(path)
        #expect(kept.data["prompts"].list.count == 2 && kept.data["set_by_user_id"].string == ann.id)
        let stranger = try await Person.register("eve", at: home)
        #expect(try await stranger.get(path).status == 404)
        #expect(try await stranger.get("/api/prompts/today?streak_id=\(streak)").status == 404)
        let other = try await home.call("DELETE", path, token: ben.token)
        #expect(other.status == 403 && other.code == "PREMIUM_REQUIRED", "\(other.text)")
        let gone = try await home.call("DELETE", path, token: ann.token)
        #expect(gone.status == 200 && gone.data["prompts"] == .array([]), "\(gone.text)")
        #expect(try await ben.get("/api/prompts/today?streak_id=\(streak)").data["category"].string != "custom")
    }
}
