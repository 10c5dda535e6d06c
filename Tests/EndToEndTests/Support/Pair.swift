import Bus
import Foundation
import Kernel
import StreaksAPI
import TestSupport
import Testing

/// Two friends and their streak, on an installation whose clock moves.
struct Pair: Sendable {
    let home: Installation
    var ann: Person
    var ben: Person
    var streak: String

    /// Two new friends who have both posted today, at noon UTC.
    static func posted(at home: Installation) async throws -> Pair {
        try await home.go(toHour: 12)
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        let pair = Pair(home: home, ann: ann, ben: ben, streak: try await ann.befriend(ben))
        try await pair.bothPost()
        return pair
    }

    /// Two new friends who posted on one day and did not on the next, half an hour after their streak broke.
    static func broken(at home: Installation, tokens: Int = 1) async throws -> Pair {
        var pair = try await posted(at: home)
        try await pair.earn(tokens)
        try await pair.travel(hours: 36.5)
        #expect(try await pair.item()["status"].string == "broken")
        return pair
    }

    /// The clock moves; both sign in again, since tokens live for 15 minutes.
    mutating func travel(hours: Double) async throws {
        try await home.travel(days: 0, seconds: Int(hours * 3_600))
        try await signIn()
    }

    /// After another test has moved the clock.
    mutating func signIn() async throws {
        try await ann.signIn()
        try await ben.signIn()
    }

    /// Counts a snap without a photo, as `media` does.
    func post(_ person: Person) async throws -> ContributionOutcome {
        let bus = try await home.bus()
        let reply = try await MutualClient(bus).recordContribution(
            RecordContributionRequest(
                operationID: try #require(OperationID(UUID().uuidString)),
                userID: try #require(UserID(person.id)),
                streakIDs: [try #require(StreakID(streak))],
                receivedAt: try await home.productTime()
            ),
            context: CallContext(principal: Principal(role: .service))
        )
        await bus.close()
        return try #require(reply.outcomes.first)
    }

    func bothPost() async throws {
        for person in [ann, ben] {
            let outcome = try await post(person)
            try #require(outcome.refused == nil, "\(outcome)")
        }
    }

    /// Both earn tokens, as for a long streak.
    func earn(_ tokens: Int) async throws {
        for token in 0..<tokens {
            try await home.emit(
                RecoveryTokenEarned(
                    streakID: try #require(StreakID(streak)),
                    userAID: try #require(UserID(ann.id)),
                    userBID: try #require(UserID(ben.id)),
                    count: Int32(30 * (token + 1)),
                    runStart: try #require(CalendarDate("2026-01-01"))
                ),
                from: "streaks"
            )
        }
        try await eventually("both have earned \(tokens)") { try await balances() == [tokens, tokens] }
    }

    /// Tokens of Ann and Ben.
    func balances() async throws -> [Int] {
        try await [ann.id, ben.id].asyncMap { id in
            Int(
                try await home.sql(
                    "SELECT coalesce(sum(balance), 0) FROM billing.account WHERE user_id = '\(id)' AND currency = 2 AND kind = 0"
                )
            ) ?? -1
        }
    }

    /// How often each type of entry is in the books of the two: "used", "refunded".
    func entries(_ type: String) async throws -> Int {
        let number = type == "used" ? 3 : 4
        let text = try await home.sql(
            "SELECT count(*) FROM billing.ledger_transaction WHERE type = \(number) AND user_id IN ('\(ann.id)', '\(ben.id)')"
        )
        return try #require(Int(text))
    }

    func item() async throws -> JSON {
        let reply = try await ann.get("/api/streaks/\(streak)")
        try #require(reply.status == 200, "\(reply.text)")
        return reply.data["streak"]
    }

    func recover(_ person: Person, key: String? = nil) async throws -> HTTPReply {
        try await person.post("/api/streaks/\(streak)/recover", key: key)
    }

    /// Waits until no recovery of the streak is under way.
    func settled() async throws {
        try await eventually("the recovery has come to its end") {
            try await home.sql(
                "SELECT count(*) FROM streaks.recovery_operation WHERE streak_id = '\(streak)' AND state IN (1, 3)"
            ) == "0"
        }
    }
}

extension Installation {
    /// Seven processes that may be killed, and a clock that moves.
    static let recovering = Task { try await Installation(["--separate", "--dev-clock"]) }

    /// What the development clock shows.
    func productTime() async throws -> Instant {
        let text = try #require(try await call("GET", "/api/dev/clock").data["now"].string)
        return try #require(Instant(rfc3339: text))
    }

    /// Moves the clock to the next time it shows this hour, UTC.
    func go(toHour hour: Int) async throws {
        let passed = try await productTime().seconds % 86_400
        let wait = (Int64(hour) * 3_600 - passed + 86_400) % 86_400
        try await travel(days: 0, seconds: Int(wait == 0 ? 86_400 : wait))
    }
}

extension Sequence where Self: Sendable {
    func asyncMap<Result>(_ transform: (Element) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
