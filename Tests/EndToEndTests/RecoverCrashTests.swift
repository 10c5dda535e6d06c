import Foundation
import TestSupport
import Testing

/// A crash of `streaks` or `billing` between any two steps of a recovery: token and streak change together or not at all (RC-4, D6).
extension RecoverTests {
    /// Where the recovery is held up, and who is killed there.
    enum Stage: String, CaseIterable {
        /// Billing is taking the token, streaks waits for its answer.
        case asking
        case taking
        /// The token is taken, the streak is about to change.
        case restoring
        /// Everything is decided, but the operation's row does not say so.
        case finishing

        var victim: String { self == .taking ? "billing" : "streaks" }
        /// The table whose change is held up.
        var table: String {
            switch self {
            case .asking, .taking: "billing.ledger_transaction"
            case .restoring: "streaks.streak_cover"
            case .finishing: "streaks.recovery_operation"
            }
        }
        var event: String { self == .finishing ? "UPDATE OF state" : "INSERT" }
    }

    @Test(arguments: Stage.allCases, [nil, "crash"]) func `a recovery whose process is killed is one token and one streak`(
        stage: Stage,
        key: String?
    ) async throws {
        let home = try await Installation.recovering.value
        let pair = try await Pair.broken(at: home)
        let hold = try await Hold(stage.table, stage.event, at: home)
        // Not awaited: there is no answer.
        Task { try? await pair.recover(pair.ann, key: key) }
        try await hold.heldUp()
        try await RestartTests().killed(stage.victim, of: home)
        try await hold.end(isDead: stage.victim == hold.schema)

        if let key {
            let reply = try await RestartTests().insist("the repeat") { try await pair.recover(pair.ann, key: key) }
            #expect(reply.data["streak"]["status"].string == "active")
            #expect(reply.data["balance"].int == 0)
            #expect(try await pair.recover(pair.ann, key: key).data == reply.data)
        }
        try await pair.settled()
        try await eventually("streaks answers") { try await pair.ann.get("/api/streaks/\(pair.streak)").status == 200 }
        #expect(try await pair.item()["status"].string == "active")
        #expect(try await pair.balances() == [0, 1])
        #expect(try await pair.entries("used") == 1)
        #expect(try await pair.entries("refunded") == 0)
        #expect(try await home.sql("SELECT count(*) FROM streaks.streak_cover WHERE streak_id = '\(pair.streak)'") == "1")
        #expect(try await pair.recover(pair.ben).code == "RECOVERY_ALREADY_USED")
    }

    @Test(arguments: [nil, "billing", "streaks"]) func `a token for a refused recovery comes back, whichever process is killed`(
        victim: String?
    ) async throws {
        let home = try await Installation.recovering.value
        let pair = try await Pair.broken(at: home)
        let friends = try await pair.ann.get("/api/friends").data["friends"][0]
        let friendship = try #require(friends["friendship_id"].string)
        let taking = try await Hold("billing.ledger_transaction", "INSERT", when: "NEW.type = 3", at: home)
        let givingBack = try await Hold("billing.ledger_transaction", "INSERT", when: "NEW.type = 4", at: home)
        let asked = Task { try await pair.recover(pair.ann, key: "refused") }
        try await taking.heldUp()
        // While the token is taken the friendship ends, and with it the streak.
        #expect(try await home.call("DELETE", "/api/friends/\(friendship)", token: pair.ben.token).status == 200)
        try await eventually("the streak has ended") {
            try await home.sql("SELECT status FROM streaks.streak WHERE id = '\(pair.streak)'") == "3"
        }
        try await taking.end(isDead: false)
        try await givingBack.heldUp()
        if let victim { try await RestartTests().killed(victim, of: home) }
        try await givingBack.end(isDead: victim == "billing")
        _ = try? await asked.value
        try await pair.settled()
        try await eventually("the answer is the refusal") {
            let reply = try await pair.recover(pair.ann, key: "refused")
            return reply.code == "STREAK_NOT_BROKEN"
        }
        #expect(try await pair.balances() == [1, 1])
        #expect(try await pair.entries("used") == 1)
        #expect(try await pair.entries("refunded") == 1)
    }

    @Test func `while billing is away the answer is UNAVAILABLE, and it is finished when it is back`() async throws {
        let home = try await Installation.recovering.value
        let waiting = try await Pair.broken(at: home)
        let billing = try #require(home.process(of: "billing"))
        kill(billing, SIGSTOP)
        defer { kill(billing, SIGCONT) }
        let reply = try await waiting.recover(waiting.ann, key: "away")
        #expect([503, 504].contains(reply.status), "\(reply.text)")
        #expect(reply.code == "UNAVAILABLE", "\(reply.text)")
        #expect(try await waiting.item()["status"].string == "broken")
        kill(billing, SIGCONT)
        let answer = try await RestartTests().insist("the repeat") { try await waiting.recover(waiting.ann, key: "away") }
        #expect(answer.data["streak"]["status"].string == "active")
        try await waiting.settled()
        #expect(try await waiting.balances() == [0, 1])
        #expect(try await waiting.entries("used") == 1)
    }

    @Test func `what was asked in time is finished although the window has passed meanwhile`() async throws {
        let home = try await Installation.recovering.value
        var pair = try await Pair.broken(at: home)
        // The request ended right after it was recorded, and no job took it up.
        let before = try await home.productTime()
        let id = UUID().uuidString.lowercased()
        _ = try await home.sql(
            """
            INSERT INTO streaks.recovery_operation (id, streak_id, user_id, for_date, received_at, lease_until)
            SELECT '\(id)', id, '\(pair.ben.id)', missed_date, '\(before)', now() + interval '1 day'
            FROM streaks.streak WHERE id = '\(pair.streak)'
            """
        )
        try await pair.travel(hours: 30)
        _ = try await home.sql("UPDATE streaks.recovery_operation SET lease_until = now() WHERE id = '\(id)'")
        try await pair.settled()
        #expect(try await pair.item()["status"].string == "active")
        #expect(try await pair.balances() == [1, 0])
        #expect(try await home.sql("SELECT state FROM streaks.recovery_operation WHERE id = '\(id)'") == "2")
    }

    /// Whatever changes a table is held up until its process is killed or it is let go.
    struct Hold: Sendable {
        let home: Installation
        let name: String
        let schema: String

        init(_ table: String, _ event: String, when condition: String = "true", at home: Installation) async throws {
            (self.home, name) = (home, "hold_\(UUID().uuidString.prefix(8).lowercased())")
            schema = String(table.prefix { $0 != "." })
            _ = try await home.sql(
                """
                CREATE TABLE \(schema).\(name) AS SELECT 1 AS held;
                GRANT SELECT ON \(schema).\(name) TO \(schema);
                CREATE FUNCTION \(schema).\(name)() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    WHILE EXISTS (SELECT 1 FROM \(schema).\(name)) LOOP PERFORM pg_sleep(0.2); END LOOP;
                    RETURN NEW;
                END $$;
                CREATE TRIGGER \(name) BEFORE \(event) ON \(table) FOR EACH ROW WHEN (\(condition))
                    EXECUTE FUNCTION \(schema).\(name)();
                """
            )
        }

        /// Waits until a writer is held up.
        func heldUp() async throws {
            try await eventually("it is held up") {
                try await home.sql(
                    "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND usename = '\(schema)'"
                ) == "t"
            }
        }

        /// - Parameter isDead: the server would go on with what the killed process had sent.
        func end(isDead: Bool) async throws {
            if isDead {
                _ = try await home.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND usename = '\(schema)'"
                )
            }
            _ = try await home.sql("DELETE FROM \(schema).\(name)")
            _ = try await home.sql("DROP FUNCTION \(schema).\(name)() CASCADE; DROP TABLE \(schema).\(name)")
        }
    }
}
