import Database
import Kernel
import Outbox
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import Runtime
@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// The job: in batches, shared by replicas, stopped anywhere, and as cheap as what is due (D7).
@Suite(.timeLimit(.minutes(10))) struct SettlementTests {
    private struct Crash: Error {}

    /// Streaks of a ring of users, each in two of them, who posted yesterday and not today; the clock shows the day after.
    private func ring(_ world: World, of count: Int) async throws -> [StreakID] {
        var users: [UserID] = []
        for number in 0..<count { users.append(try await world.person(UInt64(number + 1))) }
        var streaks: [StreakID] = []
        for index in users.indices {
            let (one, two) = (users[index], users[(index + 1) % count])
            let streak = try await world.befriend(one, two)
            for person in [one, two] { try await world.post(person, to: [streak]) }
            streaks.append(streak)
        }
        world.clock.advance(by: .days(2))
        return streaks
    }

    private func statuses(_ world: World) async throws -> [Int32] {
        try await world.database.query("SELECT status FROM streak ORDER BY id").map { try $0.decode(as: Int32.self) }
    }

    private func stale(_ world: World) async throws -> Int {
        try await world.database.query("SELECT 1 FROM stale_totals").count
    }

    /// The totals emitted last of each user: the number of running streaks.
    private func emitted(_ world: World) async throws -> [UserID: Int32] {
        try await world.events(UserStreakStatsChanged.self).reduce(into: [:]) { $0[$1.userID] = $1.activeStreaks }
    }

    @Test func `replicas share what is due: each streak breaks once, and the totals of all users follow`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let streaks = try await ring(world, of: 60)
            let now = world.clock.now()
            try await withThrowingTaskGroup(of: Void.self) { replicas in
                for _ in 0..<4 {
                    let job = world.service.settlement(mostAtOnce: 7)
                    replicas.addTask {
                        // A replica that finds nothing may have been passed over by others' locks: it tries again.
                        for _ in 0..<40 {
                            if try await job.settle(at: now) == 0 { _ = try await world.service.totals.emitStale() }
                        }
                    }
                }
                try await replicas.waitForAll()
            }
            let broken = try await world.events(StreakBroken.self).map(\.streakID)
            #expect(broken.count == 60 && Set(broken) == Set(streaks))
            #expect(try await statuses(world).allSatisfy { $0 == 2 })
            #expect(try await stale(world) == 0)
            let totals = try await emitted(world)
            #expect(totals.count == 60 && totals.values.allSatisfy { $0 == 0 })
        }
    }

    @Test func `stopped before the end of a batch nothing has happened; stopped after it the totals still follow`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            _ = try await ring(world, of: 10)
            let now = world.clock.now()
            await #expect(throws: Crash.self) {
                try await world.work.run(trace: "", requestID: "") { work in
                    let due = try await world.service.store.lockDue(.mutual, at: now, limit: 100, work.sql)
                    #expect(due.count == 10)
                    try await world.service.writer.settle(due, urgency: .soon, work)
                    throw Crash()
                }
            }
            #expect(try await statuses(world).allSatisfy { $0 == 1 })
            #expect(try await world.events(StreakBroken.self).isEmpty)
            #expect(try await stale(world) == 0)

            #expect(try await world.service.settlement().settle(at: now) == 10)
            #expect(try await world.events(StreakBroken.self).count == 10)
            await #expect(throws: Crash.self) {
                try await world.work.run(trace: "", requestID: "") { work in
                    #expect(try await StatsRepository.deleteStale(work.sql).count == 10)
                    throw Crash()
                }
            }
            #expect(try await stale(world) == 1)
            // Another replica continues.
            try await world.settle()
            #expect(try await stale(world) == 0)
            #expect(try await emitted(world).values.allSatisfy { $0 == 0 })
        }
    }

    @Test(arguments: ["contribution", "streak"])
    func `one that cannot be settled waits, is reported, and holds up no other`(table: String) async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let streaks = try await ring(world, of: 24)
            let bad = streaks[9]
            let column: Query = table == "contribution" ? "contribution SET received_at" : "streak SET started_at"
            let key: Query = table == "contribution" ? "streak_id" : "id"
            _ = try await world.database.execute("UPDATE \(column) = 'infinity' WHERE \(key) = \(bad)")
            let metrics = Metrics()
            let job = world.service.settlement(mostAtOnce: 16, metrics: metrics).job
            var runs = 0
            while try await job.run(world.clock.now()) > 0 { runs += 1 }
            while try await world.service.totals.job.run(world.clock.now()) > 0 {}
            #expect(runs < 40, "it continues by itself")
            let broken = try await world.events(StreakBroken.self).map(\.streakID)
            #expect(Set(broken) == Set(streaks).subtracting([bad]) && broken.count == 23)
            let postponed = metrics.counter("streaksnap_settlement_postponed_total", help: "")
            #expect(postponed.current == 1)
            #expect(try await emitted(world).count == 24, "the totals of the others are emitted")

            // It is tried again, now and then.
            world.clock.advance(by: SettlementJob.postponement + .minutes(2))
            while try await job.run(world.clock.now()) > 0 {}
            #expect(postponed.current == 2)
            _ = try await world.database.execute("UPDATE \(column) = '2026-05-01T08:00:00Z' WHERE \(key) = \(bad)")
            world.clock.advance(by: SettlementJob.postponement + .minutes(2))
            while try await job.run(world.clock.now()) > 0 {}
            #expect(postponed.current == 2)
            #expect(try await world.events(StreakBroken.self).last?.streakID == bad)
            #expect(try await statuses(world).allSatisfy { $0 == 2 })
        }
    }

    @Test func `a database that is away is not mistaken for a streak that cannot be settled`() {
        let streak = StreakID(high: 1, low: 2)
        for code in [DatabaseError.Code.unavailable, .connectionLost, .leaseTimeout, .deadlock, .serializationFailure, .stopped] {
            #expect(Unsettled(streaks: [streak], cause: DatabaseError(code)).isPassing, "\(code)")
        }
        for code in [DatabaseError.Code.decoding, .checkViolation, .invalidValue, .statementTimeout] {
            #expect(!Unsettled(streaks: [streak], cause: DatabaseError(code)).isPassing, "\(code)")
        }
        #expect(!Unsettled(streaks: [streak], cause: ServiceError.internal).isPassing)
    }

    @Test func `totals of the same users are counted by several at once without a deadlock`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let users = (1...40).map { UserID(high: 9, low: UInt64($0)) }
            try await withThrowingTaskGroup(of: Void.self) { replicas in
                for replica in 0..<6 {
                    let order = replica.isMultiple(of: 2) ? users : users.reversed()
                    replicas.addTask {
                        for _ in 0..<15 {
                            try await world.database.transaction(retries: 0) { sql in
                                let emitted = try await StatsRepository.refresh(order, sql)
                                #expect(emitted.map(\.userID) == users)
                            }
                        }
                    }
                }
                try await replicas.waitForAll()
            }
            let versions = try await world.database.query("SELECT version FROM user_stats").map { try $0.decode(as: Int64.self) }
            #expect(versions.count == 40 && versions.allSatisfy { $0 == 90 })
        }
    }

    @Test func `totals that are emitted late leave out purged users`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (UserID(high: 9, low: 1), UserID(high: 9, low: 2))
            try await world.work.run(trace: "", requestID: "") { work in
                try await StatsRepository.noteStale([ann, ben, ann], at: work.now, work.sql)
                try await world.service.erase(ann, work)
            }
            #expect(try await world.service.totals.emitStale() == 2)
            #expect(try await world.events(UserStreakStatsChanged.self).map(\.userID) == [ben])
            let known = try await world.database.query("SELECT user_id FROM user_stats").map { try $0.decode(as: UserID.self) }
            #expect(known == [ben])
        }
    }

    /// Ten streaks that are due among ten thousand that are not.
    private func crowd(_ world: World) async throws {
        _ = try await ring(world, of: 10)
        // Otherwise the trigger of so many members reads them all for each streak.
        _ = try await world.database.execute("ANALYZE streak_member")
        _ = try await world.database.execute(
            """
            INSERT INTO streak (id, kind, started_at, current_count, next_due, settled_at)
            SELECT ('00000000-0000-0003-0000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, \(world.clock.now() - .days(3)), 2,
                \(world.clock.now()) + n * interval '1 second', \(world.clock.now() - .days(1))
            FROM generate_series(1, 10000) AS n
            """
        )
        _ = try await world.database.execute(
            """
            INSERT INTO streak_member (streak_id, user_id, joined_at)
            SELECT ('00000000-0000-0003-0000-' || lpad(to_hex(n), 12, '0'))::uuid,
                ('00000000-0000-0002-0000-' || lpad(to_hex(2 * n + i), 12, '0'))::uuid, \(world.clock.now() - .days(3))
            FROM generate_series(1, 10000) AS n, generate_series(0, 1) AS i
            """
        )
        _ = try await world.database.execute(
            """
            INSERT INTO contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            SELECT id, members[1], '2026-05-01', started_at, started_at, id FROM streak WHERE NOT EXISTS (
                SELECT FROM contribution c WHERE c.streak_id = streak.id)
            """
        )
        _ = try await world.database.execute(
            "INSERT INTO user_stats (user_id) SELECT members[1] FROM streak ON CONFLICT DO NOTHING"
        )
        for table in ["streak", "streak_member", "contribution", "user_stats", "zone_change"] {
            _ = try await world.database.execute("ANALYZE \(identifier: table)")
        }
    }

    @Test func `what is due is found by its index, and totals are counted by those of the users`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            try await crowd(world)
            let due = try await plan(
                StreakRepository.dueQuery(.mutual, at: world.clock.now(), limit: SettlementJob.mostAtOnce),
                world
            )
            #expect(due.contains("Index Scan using streak_due"), "\(due)")
            #expect(!due.contains("Seq Scan") && !due.contains("Sort"), "\(due)")
            let users = (1...20).map { UserID(high: 2, low: UInt64($0)) }
            let totals = try await plan(LedgerReads.totalsQuery(.mutual, users), world)
            #expect(totals.contains("streak_member_user") && totals.contains("streak_pkey"), "\(totals)")
            #expect(!totals.contains("Seq Scan on streak"), "\(totals)")
        }
    }

    private func plan(_ query: Query, _ world: World) async throws -> String {
        try await world.database.query("EXPLAIN \(query)").map { try $0.decode(as: String.self) }.joined(separator: "\n")
    }

    @Test func `a run over 10,000 streaks of which 10 are due reads what belongs to the ten`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            try await crowd(world)
            let now = world.clock.now()
            let read = try await world.work.run(trace: "", requestID: "") { work in
                let before = try await rowsRead(work.sql)
                let due = try await world.service.store.lockDue(
                    .mutual,
                    at: now - .seconds(60),
                    limit: SettlementJob.mostAtOnce,
                    work.sql
                )
                #expect(due.count == 10)
                try await world.service.writer.settle(due, urgency: .now, work)
                return try await rowsRead(work.sql).merging(before, uniquingKeysWith: -)
            }
            #expect(try await world.events(StreakBroken.self).count == 10)
            #expect((10...80).contains(read["streak"] ?? 0), "\(read)")
            #expect((20...60).contains(read["contribution"] ?? 0), "\(read)")
            #expect((read["user_stats"] ?? 0) <= 40, "\(read)")
            #expect((read["zone_change"] ?? 0) <= 60, "\(read)")
        }
    }

    /// So far, by this connection.
    private func rowsRead(_ sql: Transaction) async throws -> [String: Int64] {
        try await sql.query(
            """
            SELECT relname::text, (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables
            WHERE schemaname = current_schema() AND relname IN ('streak', 'contribution', 'user_stats', 'zone_change')
            """
        ).map { try $0.decode(as: (String.self, Int64.self)) }.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }

    @Test func `the job says since when the oldest row is due, and since when totals wait`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let job = world.service.settlement()
            let oldestDue = try #require(job.job.oldestDue)
            #expect(try await oldestDue() == nil)
            _ = try await ring(world, of: 3)
            #expect(try await oldestDue() == moment("2026-05-03T00:01:00Z"))
            #expect(try await job.settle(at: world.clock.now()) == 3)
            #expect(try await oldestDue() == nil)
            let totals = try #require(world.service.totals.job.oldestDue)
            #expect(try await totals() == world.clock.now())
            #expect(try await world.service.totals.emitStale() == 3)
            #expect(try await totals() == nil)
        }
    }
}
