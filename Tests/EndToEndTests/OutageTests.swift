import Foundation
import Kernel
import Processes
import TestSupport
import Testing

/// Outages that an operator declares (SD-7).
extension RecoverTests {
    /// `streaks declare-outage …` against an installation. - Returns: its exit code and what it said.
    private func streaks(_ arguments: [String], _ home: Installation) async throws -> (status: Int32, text: String) {
        let result = try await run(
            Installation.binaries.appending(path: "streaks").path,
            arguments,
            environment: [
                "STREAKSNAP_DATABASE_URL":
                    "postgresql://streaks:\(try home.secret("postgres-streaks"))@127.0.0.1:\(home.postgresPort)/streaksnap"
            ]
        )
        return (result.status, result.text + result.errors)
    }

    private func finished(_ home: Installation) async throws {
        try await eventually("the outage has been carried out") {
            try await home.sql("SELECT count(*) FROM streaks.outage WHERE finished_at IS NULL") == "0"
        }
    }

    /// The last midnight the product's clock has passed.
    private func midnight(_ home: Installation) async throws -> Instant {
        let now = try await home.productTime()
        return Instant(seconds: now.seconds - now.seconds % 86_400)
    }

    @Test func `an outage over midnight, declared afterwards, undoes the break, once`() async throws {
        let home = try await Installation.recovering.value
        var early = try await Pair.broken(at: home)
        let pair = try await Pair.broken(at: home)
        let midnight = try await midnight(home)
        let interval = ["\(midnight - .hours(3))", "\(midnight + .hours(1))"]
        let declared = try await streaks(["declare-outage"] + interval, home)
        #expect(declared.status == 0, "\(declared.text)")
        try await eventually("the streak goes on") { try await pair.item()["status"].string == "active" }
        #expect(try await pair.item()["current_count"].int == 1)
        for person in [pair.ann, pair.ben] {
            try await eventually("both are notified") { try await person.notifications("streak_recovered").count == 1 }
        }
        try await finished(home)
        try await early.signIn()
        #expect(try await early.item()["status"].string == "broken", "it had broken two days before")

        let again = try await streaks(["declare-outage"] + interval, home)
        #expect(again.status == 0)
        #expect(again.text.contains("declared before"))
        let list = try await streaks(["outages"], home)
        #expect(list.text.contains("\(interval[0])\t\(interval[1])\tdone"), "\(list.text)")
        #expect(try await pair.ann.notifications("streak_recovered").count == 1)
        #expect(try await pair.balances() == [1, 1])
        try await pair.bothPost()
        #expect(try await pair.item()["current_count"].int == 2)
    }

    @Test func `while it lasts no streak is at risk, and one that is loaded later has it too`() async throws {
        let home = try await Installation.recovering.value
        var pair = try await Pair.posted(at: home)
        try await pair.travel(hours: 31)
        #expect(try await pair.item()["at_risk"].bool == true)
        let now = try await home.productTime()
        let declared = try await streaks(["declare-outage", "\(now)", "\(now + .hours(6))"], home)
        #expect(declared.status == 0, "\(declared.text)")
        let waiting = pair
        try await eventually("it is not at risk") { try await waiting.item()["at_risk"].bool == false }
        try await finished(home)
        try await pair.travel(hours: 8)
        #expect(try await pair.item()["status"].string == "active")
        #expect(try await pair.ann.notifications("streak_broken").isEmpty)
        try await pair.travel(hours: 24)
        #expect(try await pair.item()["status"].string == "broken", "the next date counts again")
    }

    @Test func `what reaches behind a checkpoint is decided on the whole ledger, whichever process is killed`() async throws {
        let home = try await Installation.recovering.value
        let pair = try await Pair.broken(at: home, tokens: 0)
        // Some two hundred more that broke at the same midnight: three batches.
        var people: [Person] = []
        for number in 0..<22 { people.append(try await Person.register("crowd\(number)", at: home)) }
        let ids = people.map { "'\($0.id)'" }.joined(separator: ",")
        _ = try await home.sql(
            """
            CREATE TEMP TABLE crowd AS SELECT gen_random_uuid() AS id, least(a, b) AS a, greatest(a, b) AS b
            FROM unnest(ARRAY[\(ids)]::uuid[]) AS a, unnest(ARRAY[\(ids)]::uuid[]) AS b WHERE a < b;
            INSERT INTO streaks.streak (id, kind, started_at, status, current_count, longest_count, last_completed_date, broken_at,
                missed_date, settled_at)
            SELECT crowd.id, s.kind, s.started_at, s.status, 1, 1, s.last_completed_date, s.broken_at, s.missed_date, s.settled_at
            FROM crowd, streaks.streak s WHERE s.id = '\(pair.streak)';
            INSERT INTO streaks.streak_member (streak_id, user_id, joined_at)
            SELECT crowd.id, person, s.started_at FROM crowd, unnest(ARRAY[a, b]) AS person, streaks.streak s
            WHERE s.id = '\(pair.streak)';
            INSERT INTO streaks.contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            SELECT crowd.id, person, c.on_date, c.received_at, c.recorded_at, gen_random_uuid()
            FROM crowd, unnest(ARRAY[a, b]) AS person, streaks.contribution c
            WHERE c.streak_id = '\(pair.streak)' AND c.user_id = '\(pair.ann.id)';
            INSERT INTO streaks.streak_checkpoint (streak_id, settled_through, current_count, longest_count, last_completed_date,
                run_start, freezes, closed_from, closed_until)
            SELECT crowd.id, s.last_completed_date, 1, 1, s.last_completed_date, s.last_completed_date, 0, '{}', '{}'
            FROM crowd, streaks.streak s WHERE s.id = '\(pair.streak)';
            """
        )
        let hold = try await Hold("streaks.outage", "UPDATE", when: "OLD.settled_streaks = 100", at: home)
        let midnight = try await midnight(home)
        let declared = try await streaks(
            ["declare-outage", "\(midnight - .hours(36))", "\(midnight - .hours(2))"],
            home
        )
        #expect(declared.status == 0, "\(declared.text)")
        try await hold.heldUp()
        try await RestartTests().killed("streaks", of: home)
        try await hold.end(isDead: true)
        try await finished(home)
        let crowd = "SELECT status, current_count, count(*) FROM streaks.streak WHERE members[1] IN (\(ids)) GROUP BY 1, 2"
        #expect(try await home.sql(crowd) == "1|1|231")
        try await eventually("streaks answers") { try await pair.ann.get("/api/streaks/\(pair.streak)").status == 200 }
        #expect(try await pair.item()["status"].string == "active")
        #expect(
            try await home.sql(
                """
                SELECT count(*), count(DISTINCT aggregate) FROM streaks.outbox WHERE subject LIKE '%StreakRestored'
                    AND aggregate IN (SELECT id::text FROM streaks.streak WHERE members[1] IN (\(ids)))
                """
            ) == "231|231"
        )
        #expect(
            try await home.sql(
                "SELECT count(*) FROM streaks.streak_checkpoint JOIN streaks.streak ON id = streak_id WHERE members[1] IN (\(ids))"
            ) == "0",
            "they were made before the outage was declared"
        )
    }

    @Test func `an administrator declares an outage over HTTP, and it saves the streak`() async throws {
        let home = try await Installation.recovering.value
        let pair = try await Pair.broken(at: home)
        let admin = try await Person.administrator(at: home)
        let midnight = try await midnight(home)
        func body(_ from: Instant, _ until: Instant, _ reason: String = "The network was down") -> String {
            "{\"from\":\"\(from)\",\"until\":\"\(until)\",\"reason\":\"\(reason)\"}"
        }
        for (bad, fields) in [
            (body(midnight, midnight), ["until"]), (body(midnight, midnight + .days(15)), ["until"]),
            (body(midnight, midnight + .hours(1), ""), ["reason"]), ("{\"reason\":\"x\"}", ["from", "until"]),
        ] {
            let refused = try await admin.post("/api/admin/outages", bad)
            #expect(refused.status == 400 && refused.fields == fields, "\(refused.text)")
        }
        let outage = body(midnight - .hours(4), midnight + .hours(2))
        let declared = try await admin.post("/api/admin/outages", outage)
        #expect(declared.status == 200 && declared.data["is_new"].bool == true, "\(declared.text)")
        try await eventually("the streak goes on") { try await pair.item()["status"].string == "active" }
        #expect(try await admin.post("/api/admin/outages", outage).data["is_new"].bool == false)
        try await finished(home)
        let id = try #require(declared.data["outage"]["outage_id"].string)
        let listed = try await admin.get("/api/admin/outages").data["outages"].list.first { $0["outage_id"].string == id }
        #expect(listed?["status"].string == "done" && listed?["reason"].string == "The network was down", "\(listed ?? .null)")
        #expect((listed?["settled_streaks"].int ?? 0) >= 1)
        let list = try await streaks(["outages"], home)
        #expect(list.text.contains("\tThe network was down"), "\(list.text)")
        try await eventually("it is in the audit log") {
            try await admin.get("/api/admin/actions?admin_id=\(admin.id)").data["actions"].list.contains {
                $0["kind"].string == "declare_outage" && $0["detail"].string?.hasSuffix(": The network was down") == true
            }
        }
    }

    @Test(arguments: [
        (["declare-outage"], "FROM UNTIL"), (["declare-outage", "2026-05-04T20:00:00Z"], "FROM UNTIL"),
        (["declare-outage", "yesterday", "2026-05-04T20:00:00Z"], "FROM must"),
        (["declare-outage", "2026-05-04T20:00:00Z", "2026-05-04"], "UNTIL must"),
        (["declare-outage", "2026-05-04T20:00:00Z", "2026-05-04T20:00:00Z"], "UNTIL must be after"),
        (["declare-outage", "2026-05-04T20:00:00Z", "2026-06-04T20:00:00Z"], "UNTIL must be at most"),
        (["outages", "all"], "Nothing follows outages"),
    ]) func `what cannot be an outage is refused and named`(arguments: [String], words: String) async throws {
        let home = try await Installation.recovering.value
        let before = try await home.sql("SELECT count(*) FROM streaks.outage")
        let refused = try await streaks(arguments, home)
        #expect(refused.status == 64)
        #expect(refused.text.contains(words), "\(refused.text)")
        #expect(try await home.sql("SELECT count(*) FROM streaks.outage") == before)
    }
}
