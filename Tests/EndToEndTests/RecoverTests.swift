import Foundation
import TestSupport
import Testing

/// Recovery tokens (RC-2, RC-3, RC-4), new starts and outages, by a clock that moves. One after the other: all share the clock.
@Suite(.serialized) struct RecoverTests {
    @Test func `a broken streak goes on for a token of either of the two, once a run`() async throws {
        var pair = try await Pair.broken(at: try await Installation.recovering.value, tokens: 0)
        let poor = try await pair.recover(pair.ann, key: "poor")
        #expect(poor.status == 400)
        #expect(poor.code == "NO_RECOVERY_TOKENS", "\(poor.text)")
        #expect(try await pair.recover(pair.ann, key: "poor").code == "NO_RECOVERY_TOKENS")
        #expect(try await pair.item()["status"].string == "broken")
        try await pair.earn(1)

        let stranger = try await Person.register("eve", at: pair.home)
        #expect(try await pair.recover(stranger).status == 404)
        #expect(try await pair.ann.post("/api/streaks/nonsense/recover").fields == ["streak_id"])
        let saved = try await pair.recover(pair.ben, key: "save")
        #expect(saved.status == 200, "\(saved.text)")
        #expect(saved.data["streak"]["status"].string == "active")
        #expect(saved.data["streak"]["current_count"].int == 1)
        #expect(saved.data["balance"].int == 0)
        #expect(saved.json["message"].string == "Your 1-day streak with ann goes on.")
        #expect(try await pair.recover(pair.ben, key: "save").data == saved.data, "the same key gets the same answer")
        #expect(try await pair.recover(pair.ann).code == "RECOVERY_ALREADY_USED")
        #expect(try await pair.balances() == [1, 0])
        let balance = try await pair.ben.get("/api/recovery/balance").data
        #expect(balance["transactions"][0]["type"].string == "used")
        #expect(balance["transactions"][0]["streak_id"].string == pair.streak)

        for (person, text) in [(pair.ben, "You used a recovery token"), (pair.ann, "ben used a recovery token")] {
            try await eventually("both are notified once") {
                let entries = try await person.notifications("streak_recovered")
                return entries.count == 1 && entries[0]["body"].string?.hasPrefix(text) == true
            }
        }
        let detail = try await pair.ann.get("/api/streaks/\(pair.streak)").data
        let marks = detail["calendar"].list.suffix(3).map { $0["mark"].string }
        #expect(marks == ["both", "recovered", "none"], "today may still be completed")
        #expect(detail["recoveries"].int == 1)

        try await pair.bothPost()
        try await pair.travel(hours: 48)
        #expect(try await pair.item()["status"].string == "broken")
        #expect(try await pair.recover(pair.ann).code == "RECOVERY_ALREADY_USED")
        #expect(try await pair.balances() == [1, 0])
    }

    @Test func `a day after the break it is too late, and nothing is spent`() async throws {
        var pair = try await Pair.broken(at: try await Installation.recovering.value)
        try await pair.travel(hours: 23.75)
        let late = try await pair.recover(pair.ann)
        #expect(late.status == 400)
        #expect(late.code == "RECOVERY_WINDOW_EXPIRED", "\(late.text)")
        #expect(try await pair.balances() == [1, 1])
        #expect(try await pair.entries("used") == 0)
    }

    @Test func `a token used in advance comes back once when both post, and may be used again`() async throws {
        var pair = try await Pair.posted(at: try await Installation.recovering.value)
        try await pair.earn(1)
        #expect(try await pair.recover(pair.ann).code == "STREAK_NOT_BROKEN", "it is not at risk yet")
        for day in 1...2 {
            try await pair.travel(hours: day == 1 ? 31 : 24)
            #expect(try await pair.item()["at_risk"].bool == true)
            let safe = try await pair.recover(pair.ann)
            #expect(safe.status == 200, "\(safe.text)")
            #expect(safe.data["streak"]["at_risk"].bool == false)
            #expect(try await pair.recover(pair.ben).code == "RECOVERY_ALREADY_USED")
            #expect(try await pair.balances() == [0, 1])
            try await pair.bothPost()
            try await eventually("the token is back") { try await pair.balances() == [1, 1] }
        }
        #expect(try await pair.entries("used") == 2)
        #expect(try await pair.entries("refunded") == 2)
        try await eventually("both uses are in the log") { try await pair.ben.notifications("streak_recovered").count == 2 }
        let entries = try await pair.ben.notifications("streak_recovered")
        #expect(entries.allSatisfy { $0["body"].string?.hasSuffix("is safe for today.") == true })
        #expect(try await pair.item()["current_count"].int == 3)
        // Now it is used in advance and needed.
        try await pair.travel(hours: 24)
        #expect(try await pair.recover(pair.ben).status == 200)
        try await pair.travel(hours: 17)
        #expect(try await pair.item()["status"].string == "active", "the covered date has passed")
        #expect(try await pair.balances() == [1, 0])
    }

    @Test func `however many ask at once, one token is spent`() async throws {
        let pair = try await Pair.broken(at: try await Installation.recovering.value, tokens: 2)
        let replies = try await withThrowingTaskGroup(of: HTTPReply.self) { tasks in
            for index in 0..<64 {
                let person = index % 2 == 0 ? pair.ann : pair.ben
                tasks.addTask { try await pair.recover(person, key: index % 4 < 2 ? "mine" : nil) }
            }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
        let won = replies.filter { $0.status == 200 }
        #expect(!won.isEmpty)
        #expect(Set(won.compactMap { $0.data["recovery_id"].string }).count == 1)
        #expect(replies.filter { $0.status != 200 }.allSatisfy { $0.code == "RECOVERY_ALREADY_USED" })
        #expect(replies.count == 64 && won.count < 64)
        #expect(try await pair.balances().reduce(0, +) == 3)
        #expect(try await pair.entries("used") == 1)
        #expect(try await pair.entries("refunded") == 0)
        #expect(try await pair.item()["status"].string == "active")
    }
}
