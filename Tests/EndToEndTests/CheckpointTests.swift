import Bus
import Foundation
import Kernel
import StreaksAPI
import TestSupport
import Testing

/// A long streak is not folded from its start each time, and replies are the same (SD-5).
struct CheckpointTests {
    /// Two friends whose streak began `days` ago; both have posted on each of the last `posted` dates but today.
    private func longStreak(days: Int, posted: Int) async throws -> (Person, Person, String) {
        let home = try await Installation.shared.value
        let (ann, bob) = (try await Person.register("ann", at: home), try await Person.register("bob", at: home))
        let streak = try await ann.befriend(bob)
        _ = try await home.sql(
            """
            UPDATE streaks.streak SET started_at = started_at - interval '\(days) days', settled_at = now() WHERE id = '\(streak)';
            INSERT INTO streaks.contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            SELECT '\(streak)', person, date::date, noon, noon, gen_random_uuid()
            FROM unnest(ARRAY['\(ann.id)', '\(bob.id)']::uuid[]) AS person,
                generate_series(date_trunc('day', now() AT TIME ZONE '\(home.zone)') - interval '\(posted) days',
                    date_trunc('day', now() AT TIME ZONE '\(home.zone)') - interval '1 day', interval '1 day') AS date,
                LATERAL (SELECT (date + interval '12 hours') AT TIME ZONE '\(home.zone)') AS at (noon)
            """
        )
        return (ann, bob, streak)
    }

    private func checkpoint(_ streak: String, _ home: Installation) async throws -> String {
        try await home.sql(
            """
            SELECT settled_through - (now() AT TIME ZONE '\(home.zone)')::date, current_count, longest_count
            FROM streaks.streak_checkpoint WHERE streak_id = '\(streak)'
            """
        )
    }

    @Test func `what lies before the checkpoint is not loaded, and the count goes on`() async throws {
        let (ann, bob, streak) = try await longStreak(days: 91, posted: 90)
        #expect(try await ann.upload(try Photos.jpeg(401)).status == 201)
        let stored = try await checkpoint(streak, ann.home).split(separator: "|").compactMap { Int($0) }
        try #require(stored.count == 3, "\(stored)")
        #expect((-6 ... -4).contains(stored[0]), "three days after its end a date is settled for good")
        #expect(stored[1] == 91 + stored[0])
        #expect(stored[2] == stored[1])

        // Were they loaded again, the streak would be shorter.
        _ = try await ann.home.sql(
            "DELETE FROM streaks.contribution WHERE streak_id = '\(streak)' AND on_date < (now() AT TIME ZONE '\(ann.home.zone)')::date - 10"
        )
        let completed = try await bob.upload(try Photos.jpeg(402))
        #expect(completed.data["streaks"][0]["current_count"].int == 91, "\(completed.text)")
        #expect(completed.data["streaks"][0]["longest_count"].int == 91)
        #expect(try await ann.get("/api/streaks").data["streaks"][0]["current_count"].int == 91)
    }

    @Test func `the whole ledger and the checkpoint give the same`() async throws {
        let (ann, bob, streak) = try await longStreak(days: 60, posted: 59)
        #expect(try await ann.upload(try Photos.jpeg(403)).status == 201)
        #expect(try await !checkpoint(streak, ann.home).isEmpty)
        let detail = try await ann.get("/api/streaks/\(streak)").data
        #expect(detail["calendar"].list.filter { $0["mark"].string == "both" }.count == 59, "the calendar knows all")
        _ = try await ann.home.sql("DELETE FROM streaks.streak_checkpoint WHERE streak_id = '\(streak)'")
        let completed = try await bob.upload(try Photos.jpeg(404))
        #expect(completed.data["streaks"][0]["current_count"].int == 60)
        #expect(try await !checkpoint(streak, ann.home).isEmpty, "it was made again")
        try await eventually("Bob's photo makes an entry") { try await !ann.notifications("friend_posted").isEmpty }
        let milestones = try await ann.notifications("milestone").map { $0["title"].string }
        #expect(milestones == ["🔥 60-day streak!"], "the token of this date; those of long ago make no second entry")
    }

    @Test func `what reaches behind the checkpoint is decided on the whole ledger`() async throws {
        let (ann, _, streak) = try await longStreak(days: 100, posted: 40)
        #expect(try await ann.upload(try Photos.jpeg(405)).status == 201)
        let before = try await checkpoint(streak, ann.home)
        let bus = try await ann.home.bus()
        let late = SystemClock.now() - .days(80)
        let user = try #require(UserID(ann.id))
        let request = RecordContributionRequest(
            operationID: try #require(OperationID(UUID().uuidString)),
            userID: user,
            streakIDs: [try #require(StreakID(streak))],
            receivedAt: late
        )
        let context = CallContext(principal: Principal(userID: user, role: .service))
        let reply = try await MutualClient(bus).recordContribution(request, context: context)
        await bus.close()
        #expect(reply.outcomes.first?.refused == nil, "\(reply)")
        #expect(reply.outcomes.first?.date == Zone.utc.date(at: late))
        #expect(reply.outcomes.first?.currentCount == 40)
        #expect(try await checkpoint(streak, ann.home) == before)
    }
}
