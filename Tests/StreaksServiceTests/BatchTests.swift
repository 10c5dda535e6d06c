import Database
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import Outbox
@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// What settling left behind: everything but numbers that only say how often something was written.
private struct Outcome: Error, Equatable {
    var rows: [String: [String]] = [:]
    /// Of each aggregate in order; of a user's totals the last.
    var emitted: [String: [String]] = [:]
}

/// A streak in a batch fares as it would alone (SD-5).
@Suite(.timeLimit(.minutes(10))) struct BatchTests {
    private static let zones = ["UTC", "America/New_York", "Pacific/Auckland", "Asia/Kolkata", "Pacific/Honolulu"]

    /// Eight users and a dozen streaks, some six weeks: snaps that come or do not, journeys, tokens, outages, late settlement.
    private func live(_ world: World, _ random: inout Seeded) async throws -> [StreakID] {
        var users: [UserID] = []
        for number in 0..<8 {
            users.append(try await world.person(UInt64(number + 1), zone: Self.zones.randomElement(using: &random) ?? "UTC"))
            try await world.premium(users[number])
        }
        var streaks: [StreakID] = []
        var mine: [UserID: [StreakID]] = [:]
        for index in users.indices {
            for step in index.isMultiple(of: 2) ? [1, 3] : [1] {
                let (one, two) = (users[index], users[(index + step) % users.count])
                let streak = try await world.befriend(one, two)
                streaks.append(streak)
                for person in [one, two] { mine[person, default: []].append(streak) }
            }
        }
        for day in 1...Int.random(in: 38...44, using: &random) {
            world.clock.advance(by: .days(1))
            for (index, person) in users.enumerated() {
                if random.chance(1) {
                    let zone = Self.zones.randomElement(using: &random) ?? "UTC"
                    try await world.person(UInt64(index + 1), zone: zone, version: Int64(day + 1))
                }
                if !random.chance(day < 30 ? 0 : 2) { try await world.post(person, to: mine[person] ?? []) }
            }
            if random.chance(15), let streak = streaks.randomElement(using: &random) { try await useToken(streak, world) }
            if random.chance(5) { try await declareOutage(until: world.clock.now(), world) }
            if random.chance(20) { try await world.settle() }
        }
        // What has not been settled for a while, and what is folded from the start.
        world.clock.advance(by: .hours(Int64.random(in: 80...100, using: &random)))
        // It excuses the first of the missed dates, and undoes some breaks.
        if random.chance(50) { try await declareOutage(until: world.clock.now() - .hours(60), world) }
        let some = streaks.filter { _ in random.chance(50) }
        _ = try await world.database.execute("DELETE FROM streak_checkpoint WHERE streak_id = ANY(\(some))")
        return streaks
    }

    private func useToken(_ streak: StreakID, _ world: World) async throws {
        let now = world.clock.now()
        _ = try await world.database.execute(
            """
            INSERT INTO streak_cover (streak_id, used_at, kind, user_id, from_date, through_date, operation_id)
            SELECT id, \(now), 1, members[1], \(Zone.utc.date(at: now)), \(Zone.utc.date(at: now).advanced(by: 1)), gen_random_uuid()
            FROM streak WHERE id = \(streak) AND status = 1
            """
        )
    }

    private func declareOutage(until end: Instant, _ world: World) async throws {
        _ = try await world.database.execute(
            "INSERT INTO outage (id, from_at, until_at, declared_at) VALUES (gen_random_uuid(), \(end - .days(2)), \(end), \(world.clock.now()))"
        )
    }

    /// The streaks whose row says something else of the newest dates than their contributions.
    private func streaksWhoseNewestDatesDiffer(_ world: World) async throws -> [StreakID] {
        try await world.database.query(
            """
            SELECT id FROM streak WHERE newest_dates IS DISTINCT FROM ARRAY(
                SELECT (SELECT max(on_date) FROM contribution WHERE streak_id = streak.id AND user_id = member)
                FROM unnest(members) WITH ORDINALITY AS each (member, place) ORDER BY place)
            """
        ).map { try $0.decode(as: StreakID.self) }
    }

    /// Settles in a transaction that is rolled back.
    private func outcome(of streaks: [StreakID], atOnce: Int, _ world: World) async throws -> Outcome {
        do {
            return try await world.work.run(trace: "", requestID: "") { work -> Outcome in
                _ = try await work.sql.execute("DELETE FROM outbox")
                let locked = try await world.service.store.lock(streaks, work.sql)
                var stored = Dictionary(uniqueKeysWithValues: locked.map { ($0.row.id, $0) })
                for start in stride(from: 0, to: streaks.count, by: atOnce) {
                    let some = streaks[start..<min(start + atOnce, streaks.count)].compactMap { stored.removeValue(forKey: $0) }
                    try await world.service.writer.settle(some, work)
                }
                // The events are else written with the commit, which does not come.
                try work.writeEvents()
                throw try await readOutcome(work.sql)
            }
        } catch let outcome as Outcome {
            return outcome
        }
    }

    private func readOutcome(_ sql: Transaction) async throws -> Outcome {
        var outcome = Outcome()
        for table in ["streak", "streak_checkpoint", "streak_cover", "reminder_schedule", "achievement", "user_stats"] {
            outcome.rows[table] = try await sql.query(
                "SELECT (to_jsonb(t) - 'version')::text FROM \(identifier: table) AS t ORDER BY 1"
            ).map { try $0.decode(as: String.self) }
        }
        for row in try await sql.query("SELECT aggregate, subject, body FROM outbox ORDER BY position") {
            let (aggregate, subject, body) = try row.decode(as: (String.self, String.self, [UInt8].self))
            guard subject == UserStreakStatsChanged.subject else {
                outcome.emitted[aggregate, default: []].append("\(subject) \(body)")
                continue
            }
            var totals = try UserStreakStatsChanged(serialized: body)
            totals.version = 0
            outcome.emitted["totals of \(aggregate)"] = ["\(totals)"]
        }
        return outcome
    }

    @Test(arguments: [2, 3, 4, 5, 6, 7] as [UInt64]) func `a batch comes to what its streaks would alone`(seed: UInt64)
        async throws
    {
        try await withWorld(at: "2026-03-01T12:00:00Z") { world in
            var random = Seeded(seed)
            let streaks = try await live(world, &random).shuffled(using: &random)
            #expect(try await streaksWhoseNewestDatesDiffer(world) == [])
            let alone = try await outcome(of: streaks.sorted(), atOnce: 1, world)
            #expect(!alone.emitted.isEmpty, "nothing was due")
            for size in [streaks.count, 5] {
                let together = try await outcome(of: streaks, atOnce: size, world)
                #expect(together.emitted == alone.emitted)
                for table in alone.rows.keys.sorted() { #expect(together.rows[table] == alone.rows[table], "\(table)") }
            }
        }
    }
}
