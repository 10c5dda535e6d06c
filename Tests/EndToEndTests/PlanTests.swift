import Foundation
import TestSupport
import Testing

/// How PostgreSQL finds what the statements of all services ask for.
@Suite("Statements", .timeLimit(.minutes(10)))
struct PlanTests {
    /// A row or a few, whatever the product grows to; of the events that failed the metrics count all, and of the leases of open streams,
    /// which are renewed all the time, no index is changed by that.
    private static let short: Set = ["outbox_lease", "outbox_stream", "outage", "event_retry", "live_lease"]

    @Test func `find their rows by index, from the first account on, whatever the statistics say`() async throws {
        // What an earlier life counted would hide what this one reads.
        let home = try await Installation(["--dev-clock"], startsEmpty: true)
        try await eventually("what the migrations read has been counted") {
            // To make a primary key reads the table, once.
            try await home.sql("SELECT count(*) FROM pg_stat_user_tables WHERE seq_scan = 0") == "0"
        }
        _ = try await home.sql("SELECT pg_stat_reset()")
        var zelda = try await Person.register("zelda", at: home)
        var (nell, omar) = (try await Person.register("nell", at: home), try await Person.register("omar", at: home))
        let streak = try await ClockTests().fill(zelda, nell, omar, word: "planned")
        try await visitEverything(nell, streak)
        #expect(try await zelda.export().status == 200)
        try await home.travel(days: 1)
        for person in [zelda, nell] { #expect(try await person.login().status == 200) }
        try await home.travel(days: 3)
        try await zelda.signIn()
        try await nell.signIn()
        try await omar.signIn()
        try await visitEverything(nell, streak)
        try await administer(nell, streak, at: home)
        for person in [zelda, omar] { #expect(try await person.delete().status == 200) }
        try await home.travel(days: 31)
        try await eventually("streaks has purged both") {
            // To count its rows would read the table.
            try await home.sql("SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'purged_user'") == "2"
        }
        try await eventually("every service's statistics have arrived") {
            try await home.sql(
                "SELECT count(DISTINCT schemaname) FROM pg_stat_user_tables WHERE relname = 'outbox' AND idx_scan > 0"
            ) == "6"
        }
        let read = try await home.sql(
            """
            SELECT schemaname || '.' || relname || ' ' || seq_scan FROM pg_stat_user_tables
            WHERE seq_scan > 0 AND relname <> ALL ('{\(Self.short.sorted().joined(separator: ","))}') ORDER BY 1
            """
        )
        #expect(read.isEmpty, "tables that were read from end to end, and how often")
        let keys = try await home.sql(
            """
            SELECT conrelid::regclass || ' ' || conname FROM pg_constraint AS key WHERE contype = 'f' AND NOT EXISTS (
                SELECT FROM pg_index WHERE indrelid = conrelid AND indpred IS NULL
                    AND (string_to_array(indkey::text, ' ')::smallint[])[1:cardinality(conkey)] @> conkey) ORDER BY 1
            """
        )
        #expect(keys.isEmpty, "foreign keys that no index serves: to delete what they point at reads the whole table")
        await home.guardian.end()
    }

    /// Every list of the console.
    private func administer(_ person: Person, _ streak: String, at home: Installation) async throws {
        let admin = try await Person.administrator(at: home)
        let account = "/api/admin/accounts/\(person.id)"
        let paths = [
            "/api/admin/accounts", "/api/admin/accounts?q=nell", "/api/admin/accounts?q=nell.@",
            "/api/admin/accounts?q=\(person.id)",
            account, "/api/admin/streaks?user_id=\(person.id)", "/api/admin/streaks/\(streak)",
            "/api/admin/actions", "/api/admin/actions?admin_id=\(admin.id)", "/api/admin/actions?user_id=\(person.id)",
        ]
        for path in paths {
            let reply = try await admin.get(path)
            #expect(reply.status == 200, "\(path): \(reply.text)")
        }
    }

    /// Every page of an app.
    private func visitEverything(_ person: Person, _ streak: String) async throws {
        let paths = [
            "/api/users/me", "/api/streaks", "/api/streaks/\(streak)", "/api/streaks/\(streak)/calendar",
            "/api/streaks/\(streak)/milestone-data", "/api/streaks/\(streak)/prompts", "/api/users/me/achievements",
            "/api/users/me/stats", "/api/users/me/calendar", "/api/photos/feed", "/api/photos/history/\(streak)",
            "/api/prompts/today",
            "/api/friends", "/api/friends/requests", "/api/friends/search?q=zel", "/api/notifications", "/api/blocks",
            "/api/recovery/balance",
        ]
        for path in paths {
            let reply = try await person.get(path)
            #expect(reply.status == 200, "\(path): \(reply.text)")
        }
    }
}
