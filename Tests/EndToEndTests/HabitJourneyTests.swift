import Foundation
import TestSupport
import Testing

/// Some weeks of one person's habits, as their app sees them: by HTTP, on the development clock (HA-*).
@Suite(.timeLimit(.minutes(15))) struct HabitJourneyTests {
    private struct Life {
        let home: Installation
        var ida: Person

        init() async throws {
            home = try await Installation(["--dev-clock"])
            // A Tuesday, 8 o'clock in Berlin.
            try await home.travel(to: "2030-01-01T07:00:00Z")
            ida = try await Person.register("ida", at: home, zone: "Europe/Berlin")
        }

        mutating func sleep(_ nights: Int = 1) async throws {
            try await home.travel(days: nights)
            try await ida.signIn()
        }

        func ask(_ verb: String, _ path: String, _ json: String? = nil, _ status: Int = 200) async throws -> JSON {
            let reply = try await home.call(verb, "/api/habits\(path)", token: ida.token, json: json)
            try #require(reply.status == status, "\(verb) \(path): \(reply.text)")
            return reply.data
        }

        func refusal(_ verb: String, _ path: String, _ json: String? = nil) async throws -> String? {
            try await home.call(verb, "/api/habits\(path)", token: ida.token, json: json).code
        }

        func create(_ json: String) async throws -> String {
            try #require(try await ask("POST", "", json, 201)["id"].string)
        }

        @discardableResult
        func complete(_ habit: String, _ json: String = "{}") async throws -> JSON {
            try await ask("POST", "/\(habit)/completions", json, 201)
        }
    }

    @Test func `weeks of reading, running and water`() async throws {
        var life = try await Life()
        let empty = try await life.ask("GET", "/today")
        #expect(empty["progress"]["empty_reason"].string == "no_habits" && empty["date"].string == "2030-01-01")

        // The form, and three habits of different kinds.
        let choices = try await life.ask("GET", "/choices")
        #expect(choices["categories"].list.map { $0["name"].string } == ["Activity", "Health", "Work", "Learning", "Social"])
        let learning = try #require(choices["categories"][3]["id"].string)
        let read = try await life.create(
            """
            {"name":"Read","category_id":"\(learning)","target_value":20,"unit":"pages","reminder_time":"07:30",
            "schedule":{"type":"weekdays","weekdays":[1,2,3,4,5]}}
            """
        )
        let run = try await life.create("{\"name\":\"Run\",\"schedule\":{\"type\":\"times_per_week\",\"times\":2}}")
        let water = try await life.create("{\"name\":\"Water\"}")
        #expect(try await life.refusal("POST", "", "{\"name\":\"  \"}") == "VALIDATION_ERROR")
        #expect(try await life.refusal("POST", "", "{\"name\":\"WATER\"}") == "HABIT_NAME_TAKEN")

        // A first day: pages in two sittings, water with one tap.
        let half = try await life.complete(read, "{\"value\":12.5}")
        #expect(half["status"].string == "partial" && half["day_complete"].bool == false)
        let full = try await life.complete(read, "{\"increment\":7.5,\"mood\":\"great\",\"note\":\"Chapter 1\"}")
        #expect(full["status"].string == "done" && full["current_streak"].int == 1 && full["progress"]["percent"].int == 50)
        let perfect = try await life.complete(water)
        #expect(perfect["day_complete"].bool == true && perfect["progress"]["text"].string == "Perfect!")
        try await life.complete(run)

        // Three more days; on the fourth the phone was off until the weekend.
        for _ in 0..<3 {
            try await life.sleep()
            try await life.complete(read)
            try await life.complete(water)
        }
        try await life.complete(run)
        try await life.sleep(2)
        let sunday = try await life.ask("GET", "/today")
        #expect(sunday["date"].string == "2030-01-06" && sunday["progress"]["total"].int == 1, "reading is not due on Sunday")
        #expect(try await life.refusal("POST", "/\(read)/completions", "{\"date\":\"2030-01-07\"}") == "DATE_IN_FUTURE")
        let late = try await life.complete(water, "{\"date\":\"2030-01-05\"}")
        #expect(late["current_streak"].int == 5, "the gap is closed")
        let seventh = try await life.complete(water)
        #expect(seventh["current_streak"].int == 6)
        try await life.sleep()
        let milestone = try await life.complete(water)
        #expect(milestone["milestone"].int == 7 && milestone["current_streak"].int == 7)
        #expect(try await life.ask("GET", "/\(run)")["habit"]["current_streak"].int == 1, "a week was kept")

        // Holidays: reading pauses for a week, water is skipped once, and the schedule becomes easier.
        _ = try await life.ask("POST", "/\(read)/pause", "{\"until\":\"2030-01-14\"}")
        _ = try await life.ask("POST", "/\(water)/skip", "{\"date\":\"2030-01-07\"}")
        try await life.sleep(7)
        let monday = try await life.ask("GET", "/\(read)")
        #expect(monday["today"]["status"].string == "open" && monday["habit"]["current_streak"].int == 4)
        #expect(try await life.ask("GET", "/\(water)")["habit"]["current_streak"].int == 0, "nothing was drunk for six days")
        let eased = try await life.ask("PUT", "/\(read)", "{\"schedule\":{\"type\":\"every_n_days\",\"every\":2}}")
        #expect(eased["schedule"]["text"].string == "Every 2 days" && eased["schedule"]["from"].string == "2030-01-14")
        #expect(eased["target_value"].number == 20 && eased["name"].string == "Read")

        try await looks(life, read, water)
        try await ends(&life, read, run, water)
    }

    /// What the screens show of it.
    private func looks(_ life: Life, _ read: String, _ water: String) async throws {
        let detail = try await life.ask("GET", "/\(read)")
        #expect(detail["month"]["days"].list.count == 31 && detail["total_value"].number == 80)
        #expect(detail["month"]["days"][0]["last_completion"]["note"].string == "Chapter 1")
        let holidays = detail["month"]["days"].list[7...12].map { $0["status"].string }
        #expect(holidays == ["paused", "paused", "paused", "paused", "not_due", "not_due"])
        #expect(detail["best_run"]["count"].int == 4 && detail["milestones"]["next"].int == 7)
        let december = try await life.ask("GET", "/\(water)/calendar?month=2029-12")
        #expect(december["days"].list.allSatisfy { $0["status"].string == "none" })
        let notes = try await life.ask("GET", "/\(read)/notes")
        #expect(notes["notes"].list.map { $0["note"].string } == ["Chapter 1"])
        let page = try await life.home.call("GET", "/api/habits/\(read)/completions?limit=2", token: life.ida.token)
        #expect(page.data["completions"].list.count == 2 && page.json["meta"]["next_cursor"].string != nil)
        let groups = try await life.ask("GET", "?q=RE")["groups"].list
        #expect(groups.count == 1 && groups[0]["category"]["name"].string == "Learning" && groups[0]["count"].int == 1)
        #expect(try await life.refusal("GET", "/widget") == "PREMIUM_REQUIRED")
        let profile = try await life.ask("GET", "/profile")
        #expect(profile["days_active"].int == 14 && profile["habits"]["used"].int == 3 && profile["habits"]["limit"].int == 5)
        let first = try await life.ask("GET", "/today?date=2030-01-01")
        #expect(first["progress"]["day_complete"].bool == true && first["today"].string == "2030-01-14")
    }

    /// The archive, a deletion that is regretted, one that is not, and the end of everything.
    private func ends(_ life: inout Life, _ read: String, _ run: String, _ water: String) async throws {
        _ = try await life.ask("POST", "/\(run)/archive", "{}")
        #expect(try await life.ask("GET", "?archived=true")["groups"][0]["habits"][0]["id"].string == run)
        #expect(try await life.refusal("POST", "/\(run)/completions", "{}") == "HABIT_ARCHIVED")
        _ = try await life.ask("DELETE", "/\(read)")
        _ = try await life.ask("POST", "/\(read)/undelete", "{}")
        _ = try await life.ask("DELETE", "/\(water)")
        try await life.sleep(31)
        #expect(try await life.refusal("POST", "/\(water)/undelete", "{}") == "HABIT_NOT_FOUND", "it is gone for good")
        #expect(try await life.home.sql("SELECT count(*) FROM streaks.habit WHERE id = '\(water)'") == "0")
        let token = try #require(try await life.ask("DELETE", "/data")["token"].string)
        #expect(try await life.refusal("DELETE", "/data?token=0") == "CONFIRMATION_NOT_VALID")
        #expect(try await life.ask("DELETE", "/data?token=\(token)")["deleted"].bool == true)
        #expect(try await life.ask("GET", "/today")["progress"]["empty_reason"].string == "no_habits")
    }
}
