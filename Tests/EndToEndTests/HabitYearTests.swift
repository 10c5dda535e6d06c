import Foundation
import Kernel
import TestSupport
import Testing

/// A year of one person's habits on a tablet and on a phone that is offline for a week, through HTTP on the development clock (HA-*).
@Suite(.timeLimit(.minutes(15))) struct HabitYearTests {
    @Test func `a year of habits on a tablet, and on a phone that is offline for a week`() async throws {
        var year = try await HabitYear()
        try await year.begins()
        try await year.winter()
        try await year.sabbatical()
        try await year.spring()
        try await year.weekOffline()
        try await year.reconnects()
        try await year.agrees()
        try await year.summer()
        try await year.drawer()
        try await year.ends()
    }
}

/// Ida's year. On her tablet she uses the ordinary routes, which need the server; her phone has a copy and a queue.
struct HabitYear {
    let home: Installation
    var ida: Person
    var phone = HabitPhone()
    /// By her clock.
    var today = CalendarDate("2030-01-01") ?? CalendarDate(dayNumber: 0)
    /// Begun on the phone: every date; 20 pages on weekdays; two dates of a week.
    var (water, read, run) = ("", "", "")
    /// Begun on the tablet: every second date; on the 1st and the 31st.
    var (stretch, budget) = ("", "")
    /// Begun on the phone while it is offline.
    var journal = ""
    /// The first date of the week offline.
    let offline = CalendarDate("2030-05-28") ?? CalendarDate(dayNumber: 0)

    init() async throws {
        home = try await Installation(["--dev-clock"])
        // A Tuesday, 8 o'clock in Berlin.
        try await home.travel(to: "2030-01-01T07:00:00Z")
        ida = try await Person.register("ida", at: home, zone: "Europe/Berlin")
    }

    // MARK: what she does

    mutating func sleep(_ nights: Int = 1) async throws {
        try await home.travel(days: nights)
        try await ida.signIn()
        today = today.advanced(by: nights)
    }

    /// A call of the tablet.
    @discardableResult
    func tablet(_ verb: String, _ path: String, _ json: String? = nil, _ status: Int = 200) async throws -> JSON {
        let reply = try await home.call(verb, "/api/habits\(path)", token: ida.token, json: json)
        try #require(reply.status == status, "\(verb) \(path) on \(today): \(reply.text)")
        return reply.data
    }

    @discardableResult
    func complete(_ habit: String, _ json: String = "{}") async throws -> JSON {
        try await tablet("POST", "/\(habit)/completions", json, 201)
    }

    /// She drinks every date, reads on weekdays and runs on Tuesdays and Fridays, all on the phone, which has a connection on the last of
    /// these dates.
    mutating func live(until last: String) async throws {
        let last = try #require(CalendarDate(last))
        let first = today.advanced(by: 1)
        try await sleep(today.distance(to: last))
        for ago in (0...first.distance(to: last)).reversed() { live(last.advanced(by: -ago)) }
        try await phone.sync(ida)
    }

    /// One date of this, in the phone's queue.
    mutating func live(_ date: CalendarDate) {
        phone.complete(water, on: date)
        if (1...5).contains(date.weekday) { phone.complete(read, on: date) }
        if [2, 5].contains(date.weekday) { phone.complete(run, on: date) }
    }

    // MARK: what is seen

    /// How far a habit is, on the tablet and on the phone.
    func count(_ habit: String) async throws -> Int? {
        let count = try await tablet("GET", "/\(habit)")["habit"]["current_streak"].int
        #expect(phone.copy.streaks[habit]?["count"].int == count, "on the phone, \(today)")
        return count
    }

    /// The milestones that the detail screen shows, newest first.
    func milestones(_ habit: String) async throws -> [Int?] {
        try await tablet("GET", "/\(habit)")["milestones"]["reached"].list.map { $0["count"].int }
    }

    /// How many milestones of a habit she was notified of since a date.
    func notified(_ habit: String, since date: String) async throws -> Int {
        try await ida.notifications("milestone").count { entry in
            entry["habit_id"].string == habit && (entry["created_at"].string ?? "") >= date
        }
    }

    func expectNotified(_ habit: String, _ number: Int, since date: String) async throws {
        try await eventually("\(number) milestones are notified") { try await notified(habit, since: date) >= number }
        #expect(try await notified(habit, since: date) == number, "once each")
    }
}

// MARK: January to May

extension HabitYear {
    /// She begins three habits on the phone and two on the tablet, and keeps them for a week.
    mutating func begins() async throws {
        try await phone.sync(ida)
        #expect(phone.copy.categories.count == 5 && phone.copy.habits.isEmpty && phone.copy.settings["theme"].string == "auto")
        #expect(phone.earliest == "2029-12-25")
        water = phone.createHabit("{\"name\":\"Water\"}")
        let weekdays = "{\"type\":\"weekdays\",\"weekdays\":[1,2,3,4,5]}"
        read = phone.createHabit("{\"name\":\"Read\",\"unit\":\"pages\",\"target_value\":20,\"schedule\":\(weekdays)}")
        run = phone.createHabit("{\"name\":\"Run\",\"schedule\":{\"type\":\"times_per_week\",\"times\":2}}")
        try await phone.sync(ida)
        let second = "{\"name\":\"Stretch\",\"schedule\":{\"type\":\"every_n_days\",\"every\":2}}"
        stretch = try #require(try await tablet("POST", "", second, 201)["id"].string)
        let days = "{\"name\":\"Budget\",\"schedule\":{\"type\":\"days_of_month\",\"days\":[1,31]}}"
        budget = try #require(try await tablet("POST", "", days, 201)["id"].string)
        let shown = try await tablet("GET", "/today")["sections"].list.flatMap { $0["habits"].list }
        #expect(Set(shown.map { $0["name"].string }) == ["Water", "Read", "Run", "Stretch", "Budget"])

        for night in 0..<7 {
            if night > 0 { try await sleep() }
            let drunk = try await complete(water)
            #expect(drunk["current_streak"].int == night + 1)
            #expect(drunk["milestone"].int == (night == 6 ? 7 : nil))
            if night % 2 == 0 { try await complete(stretch) }
            if (1...5).contains(today.weekday) {
                phone.complete(read, on: today, "{\"value\":12.5}")
                phone.complete(read, on: today, "{\"value\":7.5,\"note\":\"to the end of a chapter\"}")
            }
            if [2, 5].contains(today.weekday) { phone.complete(run, on: today, "{\"mood\":\"great\"}") }
        }
        try await phone.sync(ida)
        #expect(phone.copy.habits.count == 5)
        #expect(phone.copy.completions.values.count { $0["habit_id"].string == water } == 7, "those of the tablet")
        #expect(try await count(read) == 5)
        #expect(try await count(run) == 1)
        #expect(try await count(stretch) == 4)
        #expect(try await milestones(water) == [7])
        try await expectNotified(water, 1, since: "2030-01-01")
    }

    /// The phone is online once a week, and brings what was done on its dates. Milestones are reported of today and yesterday only.
    mutating func winter() async throws {
        for date in ["2030-01-14", "2030-01-21", "2030-01-28", "2030-01-30"] { try await live(until: date) }
        #expect(try await count(water) == 30)
        #expect(try await milestones(water) == [30, 7])
        #expect(try await milestones(read) == [], "the seventh lay in the middle of a week")
        #expect(try await milestones(run) == [4], "the week that ended yesterday")
        try await expectNotified(water, 2, since: "2030-01-01")
        #expect(try await count(stretch) == 0, "no completion since")
        try await live(until: "2030-02-06")
        #expect(try await count(water) == 37)
        #expect(try await count(read) == 27)
        #expect(try await count(run) == 5)
    }

    /// For three months she does nothing, and says so on the tablet: nothing is lost.
    mutating func sabbatical() async throws {
        try await tablet("POST", "/\(water)/pause", "{\"from\":\"2030-02-07\",\"until\":\"2030-05-08\"}")
        for habit in [read, run] { try await tablet("POST", "/\(habit)/archive", "{}") }
        try await sleep(91)
        for habit in [read, run] { try await tablet("POST", "/\(habit)/unarchive", "{}") }
        let shown = try await tablet("GET", "/today")
        #expect(shown["date"].string == "2030-05-08")
        live(today)
        try await phone.sync(ida)
        #expect(phone.copy.habits[water]?["pauses"][0]["until"].string == "2030-05-08")
        #expect(try await count(water) == 38)
        #expect(try await count(read) == 28)
        #expect(try await count(run) == 5)
    }

    mutating func spring() async throws {
        for date in ["2030-05-14", "2030-05-20"] { try await live(until: date) }
        #expect(try await milestones(water) == [50, 30, 7])
        try await expectNotified(water, 1, since: "2030-05-08")
        try await live(until: "2030-05-27")
        #expect(try await count(water) == 57)
        #expect(try await count(read) == 41)
        #expect(try await count(run) == 7)
    }
}

// MARK: the week offline

extension HabitYear {
    /// In the mountains the phone has no connection for a week. She uses it each day; the tablet is with her and borrows one at times.
    mutating func weekOffline() async throws {
        var (first, wrong) = ("", "")
        for day in 0..<7 {
            try await sleep()
            let done = phone.complete(water, on: today)
            switch day {
            case 0:
                first = done
                phone.complete(run, on: today)
                phone.complete(read, on: today)
            case 1:
                phone.editCompletion(first, "{\"note\":\"from a spring\",\"mood\":\"great\"}")
                phone.editHabit(read, "{\"name\":\"Read a book\"}")
                phone.complete(read, on: today)
                try await complete(water, "{\"note\":\"on the tablet\"}")
            case 2:
                phone.skip(read, on: today)
                wrong = phone.complete(run, on: today)
                try await tablet("PUT", "/\(read)", "{\"name\":\"Reading\",\"description\":\"An hour\"}")
            case 3:
                phone.deleteCompletion(wrong)
                phone.archive(stretch)
                phone.complete(run, on: today)
                for value in [12.5, 7.5] { phone.complete(read, on: today, "{\"value\":\(value)}") }
                let part = try await complete(read, "{\"value\":5}")
                #expect(part["status"].string == "partial", "of 20 pages")
                try await tablet("DELETE", "/\(budget)")
            case 4:
                phone.editHabit(budget, "{\"name\":\"Money\"}")
                phone.note("The first snow of June", on: today)
                journal = phone.createHabit("{\"name\":\"Journal\"}")
                phone.complete(journal, on: today)
            case 5:
                phone.complete(journal, on: today)
                try await tablet("POST", "", "{\"name\":\"Journal\"}", 201)
            default:
                phone.complete(journal, on: today)
                phone.complete(read, on: today)
                let seen = try await tablet("GET", "/\(water)")
                #expect(seen["habit"]["current_streak"].int == 0, "on the tablet the streak is broken")
                #expect(seen["habit"]["longest_streak"].int == 57)
            }
        }
        // Two days in a rucksack; the tablet is back at home.
        for _ in 0..<2 {
            try await sleep()
            try await complete(water)
            try await complete(read)
        }
        try await sleep()
        let late = try await home.call(
            "POST",
            "/api/habits/\(water)/completions",
            token: ida.token,
            json: "{\"date\":\"\(offline)\"}"
        )
        #expect(late.code == "DATE_TOO_OLD", "nine days back, by the ordinary route")
    }

    /// The phone brings the week, in several requests whose replies are lost once each.
    mutating func reconnects() async throws {
        let (before, queued) = (phone.answers.count, phone.unsent)
        let requests = phone.requests
        try await phone.sync(ida, changes: 10, page: 6, losesReplies: true)
        let answers = phone.answers[before...]
        #expect(answers.count == queued && phone.unsent == 0)
        #expect(queued > 20 && phone.requests - requests >= 6, "three requests, each sent twice, and the pages")

        // What became of it.
        let merged = answers.filter { $0.outcome == "merged" }
        #expect(merged.count == 1 && merged.allSatisfy { $0.change.contains("\"date\":\"2030-05-29\"") }, "\(merged)")
        let refused = answers.filter { $0.outcome == "refused" }
        #expect(refused.count == 1 && refused.allSatisfy { $0.code == "GONE" && $0.change.contains("Money") }, "\(refused)")

        // The streak goes through the week.
        #expect(try await count(water) == 66)
        #expect(try await milestones(water) == [50, 30, 7])
        #expect(try await count(read) == 47, "the date that was skipped is no gap")
        #expect(try await count(journal) == 0)
        #expect(try await tablet("GET", "/\(journal)")["habit"]["longest_streak"].int == 3)
        #expect(phone.copy.habits[journal]?["name"].string == "Journal (2)", "the tablet's was first")
        // The last writer of each field, by the time at which it reached the server.
        #expect(phone.copy.habits[read]?["name"].string == "Read a book")
        #expect(phone.copy.habits[read]?["description"].string == "An hour")
        #expect(phone.copy.habits[budget] == nil && phone.copy.habits[stretch]?["archived"].bool == true)
        #expect(phone.copy.completions(water, "2030-05-28").map { $0["note"].string } == ["from a spring"])
        #expect(phone.copy.completions(water, "2030-05-29").map { $0["note"].string } == ["on the tablet"])
        #expect(phone.copy.completions(read, "2030-05-31").count == 3)
        #expect(phone.copy.completions(run, "2030-05-30").isEmpty, "it was taken back")

        // A name that the server has given another id stays good.
        let own = try #require(merged.first?.completion)
        phone.editCompletion(own, "{\"note\":\"on both\"}")
        live(today)
        try await phone.sync(ida)
        #expect(phone.copy.completions(water, "2030-05-29").map { $0["note"].string } == ["on both"])
        #expect(try await count(water) == 67)
        try await expectNotified(water, 1, since: "2030-05-08")
    }
}

// MARK: June to December

extension HabitYear {
    mutating func summer() async throws {
        for date in ["2030-06-13", "2030-06-20", "2030-06-27", "2030-07-04", "2030-07-09"] { try await live(until: date) }
        #expect(try await count(water) == 100)
        #expect(try await milestones(water) == [100, 50, 30, 7])
        try await expectNotified(water, 2, since: "2030-05-08")
    }

    /// The phone lies in a drawer until the last week of the year; the tablet is used now and then.
    mutating func drawer() async throws {
        try await sleep(84)
        for ago in [1, 0] { try await complete(water, "{\"date\":\"\(today.advanced(by: -ago))\"}") }
        try await tablet("DELETE", "/\(journal)")
        try await tablet("PUT", "/settings", "{\"theme\":\"dark\",\"first_day_of_week\":0}")
        try await sleep(91)
        for ago in (0..<7).reversed() { phone.complete(water, on: today.advanced(by: -ago)) }
        phone.editHabit(journal, "{\"name\":\"Diary\"}")
        try await phone.sync(ida, page: 20)
        #expect(phone.answers.last?.code == "GONE", "it was deleted in October")
        #expect(phone.copy.habits[journal] == nil && phone.copy.settings["theme"].string == "dark")
        #expect(phone.copy.habits[run]?["versions"].list.map { $0["week_start"].int } == [1, 0])
        #expect(try await count(water) == 7)
        #expect(try await milestones(water) == [7, 100, 50, 30, 7], "reported again, since the run broke")
        try await expectNotified(water, 1, since: "2030-12-01")
        #expect(try await count(run) == 0)
        try expectKept(phone.copy, without: journal)
    }

    /// What the year has come to, also on a new phone.
    mutating func ends() async throws {
        #expect(try await tablet("GET", "/today")["date"].string == "2030-12-31")
        let detail = try await tablet("GET", "/\(water)")
        #expect(detail["days_done"].int == 109 && detail["habit"]["longest_streak"].int == 100)
        // What streaks would consume from billing for a premium plan.
        _ = try await home.sql(
            "INSERT INTO streaks.entitlement_replica (user_id, version, is_premium) VALUES ('\(ida.id)', 1, true)"
        )
        let year = try await tablet("GET", "/statistics?period=year")
        let drunk = year["habits"].list.first { $0["habit_id"].string == water }
        #expect(drunk?["rate"]["done"].int == 109 && drunk?["rate"]["due"].int == 275, "365 less 90 that were paused")

        var new = HabitPhone()
        try await new.sync(ida, page: 50)
        #expect(new.requests > 4)
        #expect(new.copy.settings == phone.copy.settings)
        #expect(new.copy.habits == phone.copy.habits)
        #expect(new.copy.categories == phone.copy.categories)
        #expect(new.copy.skips == phone.copy.skips && new.copy.notes == phone.copy.notes)
        #expect(new.copy.streaks == phone.copy.streaks)
        #expect(Set(new.copy.completions.keys) == Set(phone.copy.completions.keys))
        #expect(new.copy == phone.copy)
    }
}
