import Foundation
import TestSupport
import Testing

/// A year of one person who checks in, as their app sees it: the routes of check-ins at work, on the development clock.
@Suite(.timeLimit(.minutes(30))) struct CheckInYearTests {
    private struct Year {
        let home: Installation
        var max: Person

        init() async throws {
            home = try await Installation(["--dev-clock"])
            // A Tuesday.
            try await home.travel(to: "2030-01-01T09:00:00Z")
            max = try await Person.register("max", at: home, zone: "UTC")
        }

        mutating func sleep(_ nights: Int = 1) async throws {
            try await home.travel(days: nights)
            try await max.signIn()
        }

        func checkIn() async throws -> JSON {
            let now = try #require(try await home.call("GET", "/api/dev/clock").data["now"].string)
            let body = "{\"mood_score\":8,\"energy_level\":7,\"check_in_time\":\"\(now)\"}"
            let reply = try await max.post("/api/mobile/streaks/check-in", body)
            try #require(reply.status == 200, "\(reply.text)")
            return reply.data
        }

        /// Checks in on so many dates. - Returns: the milestones on the way.
        mutating func live(_ days: Int) async throws -> [String] {
            var reached: [String] = []
            for _ in 0..<days {
                if let type = try await checkIn()["milestone"]["milestone_type"].string { reached.append(type) }
                try await sleep()
            }
            return reached
        }

        func status() async throws -> JSON { try await max.get("/api/mobile/streaks/status").data }
    }

    @Test func `a year of check-ins`() async throws {
        var year = try await Year()

        // Max begins and keeps it up for nine days.
        #expect(try await year.live(9) == ["day_3", "day_7"])
        #expect(try await year.status()["current_streak"].int == 9)

        // He misses a day: a freeze keeps the streak, and it goes on.
        try await year.sleep()
        let kept = try await year.status()
        #expect(
            kept["current_streak"].int == 10 && kept["freezes_available"].int == 2
                && kept["freeze_info"]["freezes_used_this_week"].int == 1
        )
        #expect(try await year.live(4) == ["day_14"])

        // He goes to the sea for ten days and comes back three days early.
        let pause = "{\"resume_date\":\"2030-01-25\",\"reason\":\"vacation\"}"
        #expect(try await year.max.post("/api/mobile/streaks/pause", pause).data["days_paused"].int == 10)
        try await year.sleep(7)
        #expect(try await year.status()["current_streak"].int == 14, "nothing was lost")
        #expect(try await year.max.post("/api/mobile/streaks/resume", "{}").data["streak_preserved"].int == 14)
        #expect(try await year.live(2) == [])

        // What he has: 15 dates with a check-in and one with a freeze.
        let history = try await year.max.get("/api/mobile/streaks/history?days=30").data["summary"]
        #expect(
            history["days_with_check_ins"].int == 15 && history["freezes_used"].int == 1 && history["current_streak"].int == 16
        )

        // A long year: every date from now on, to the last milestone.
        let more = TestDepth.pick(quick: 5, full: 349)
        let reached = try await year.live(more)
        #expect(
            reached == TestDepth.pick(quick: ["day_21"], full: ["day_21", "day_30", "day_50", "day_100", "day_180", "day_365"])
        )
        let end = try await year.status()
        #expect(end["current_streak"].int == 16 + more && end["freezes_available"].int == 5)
        let milestones = try await year.max.get("/api/mobile/streaks/milestones").data
        #expect(milestones["achieved_milestones"].int == TestDepth.pick(quick: 4, full: 9))
        let xp = try await year.max.get("/api/mobile/xp").data
        #expect(xp["balance"] == xp["lifetime"] && (xp["level"].int ?? 0) >= TestDepth.pick(quick: 4, full: 19))
    }
}
