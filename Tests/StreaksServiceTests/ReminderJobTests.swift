import Database
import Kernel
import Outbox
import Replicas
import StreaksAPI
import StreaksDomain
import Testing

@testable import Runtime
@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// The job itself: shared by replicas, stopped anywhere, and as cheap as what is due (D7).
@Suite(.timeLimit(.minutes(10))) struct ReminderJobTests {
    private struct Crash: Error {}

    @Test func `replicas share what is due; stopped in the middle, nothing is lost and nothing emitted twice`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            var users: [UserID] = []
            for number in 0..<30 { users.append(try await world.person(UInt64(number + 1))) }
            for index in stride(from: 0, to: users.count, by: 2) { try await world.befriend(users[index], users[index + 1]) }
            try await world.settle()
            // All of them are due at once.
            world.clock.set(moment("2026-05-01T11:59:59Z"))
            let now = world.clock.now()
            // Dies after the events are in the outbox, before the end of the transaction.
            await #expect(throws: Crash.self) {
                try await world.work.run(trace: "", requestID: "") { work in
                    #expect(try await world.service.reminders.emit(dueAt: now, limit: 7, work) == 7)
                    throw Crash()
                }
            }
            #expect(try await world.events(SnapWindowOpened.self).isEmpty)
            let total = try await withThrowingTaskGroup(of: Int.self) { replicas in
                for _ in 0..<6 {
                    replicas.addTask {
                        var total = 0
                        // A replica that finds nothing may have been passed over by others' locks: it tries again.
                        for _ in 0..<40 {
                            total += try await world.work.run(trace: "", requestID: "") { work in
                                try await world.service.reminders.emit(dueAt: now, limit: 3, work)
                            }
                        }
                        return total
                    }
                }
                return try await replicas.reduce(0, +)
            }
            #expect(total == 30)
            let emitted = try await world.events(SnapWindowOpened.self).map(\.userID)
            #expect(emitted.count == 30 && Set(emitted) == Set(users))
        }
    }

    /// Ten users who are due among ten thousand who are not.
    private func crowd(_ world: World) async throws -> [UserID] {
        var users: [UserID] = []
        for number in 0..<10 { users.append(try await world.person(UInt64(number + 1))) }
        for index in stride(from: 0, to: 10, by: 2) {
            let streak = try await world.befriend(users[index], users[index + 1])
            for user in users[index...index + 1] { try await world.post(user, to: [streak]) }
        }
        try await world.settle()
        // Otherwise the trigger of so many members reads them all for each streak.
        _ = try await world.database.execute("ANALYZE streak_member")
        _ = try await world.database.execute(
            """
            INSERT INTO reminder_schedule (user_id, since, next_at)
            SELECT ('00000000-0000-0002-0000-' || lpad(to_hex(n), 12, '0'))::uuid, \(world.clock.now()),
                \(world.clock.now() + .days(3)) + n * interval '1 second' FROM generate_series(1, 10000) AS n
            """
        )
        _ = try await world.database.execute(
            """
            INSERT INTO streak (id, kind, started_at, settled_at)
            SELECT ('00000000-0000-0003-0000-' || lpad(to_hex(4 * n + d), 12, '0'))::uuid, 1, \(world.clock.now()),
                \(world.clock.now())
            FROM generate_series(1, 10000) AS n, generate_series(0, 0) AS d
            """
        )
        _ = try await world.database.execute(
            """
            INSERT INTO streak_member (streak_id, user_id, joined_at)
            SELECT ('00000000-0000-0003-0000-' || lpad(to_hex(4 * n + d), 12, '0'))::uuid,
                ('00000000-0000-0002-0000-' || lpad(to_hex(n + i * (d + 1)), 12, '0'))::uuid, \(world.clock.now())
            FROM generate_series(1, 10000) AS n, generate_series(0, 0) AS d, generate_series(0, 1) AS i
            """
        )
        _ = try await world.database.execute(
            """
            INSERT INTO contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            SELECT id, members[1], '2026-05-01', started_at, started_at, gen_random_uuid() FROM streak
            WHERE NOT EXISTS (SELECT FROM contribution c WHERE c.streak_id = streak.id)
            """
        )
        for table in ["reminder_schedule", "streak", "streak_member", "contribution"] {
            _ = try await world.database.execute("ANALYZE \(identifier: table)")
        }
        return users
    }

    @Test func `who is due is found by the index`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            _ = try await crowd(world)
            let query = ReminderRepository.dueQuery(at: moment("2026-05-01T21:00:00Z"), limit: 100)
            let plan = try await world.database.query("EXPLAIN \(query)").map { try $0.decode(as: String.self) }.joined(
                separator: "\n"
            )
            #expect(plan.contains("Index Scan using reminder_schedule_due"), "\(plan)")
            #expect(!plan.contains("Seq Scan") && !plan.contains("Sort"), "\(plan)")
        }
    }

    @Test func `a run over 10,000 users of whom 10 are due reads what belongs to the ten`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let users = try await crowd(world)
            world.clock.set(moment("2026-05-02T21:00:00Z"))
            let now = world.clock.now()
            let read = try await world.work.run(trace: "", requestID: "") { work in
                // What the crowd's insertion read on this connection may not have been added up yet.
                let before = try await rowsRead(work.sql)
                #expect(try await world.service.reminders.emit(dueAt: now, work) == 10)
                return try await rowsRead(work.sql).merging(before, uniquingKeysWith: -)
            }
            #expect(try await world.events(StreaksAtRisk.self).count == users.count)
            #expect((1...60).contains(read["reminder_schedule"] ?? 0), "\(read)")
            #expect((10...60).contains(read["streak"] ?? 0), "\(read)")
            #expect((read["contribution"] ?? 0) < 100, "\(read)")
            #expect((read["zone_change"] ?? 0) < 100, "\(read)")
        }
    }

    private func rowsRead(_ sql: Transaction) async throws -> [String: Int64] {
        try await sql.query(
            """
            SELECT relname::text, (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables
            WHERE schemaname = current_schema() AND relname IN ('reminder_schedule', 'streak', 'contribution', 'zone_change')
            """
        ).map { try $0.decode(as: (String.self, Int64.self)) }.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }

    @Test func `the job says since when the oldest row is due`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            #expect(try await ReminderRepository.oldestDue(world.database) == nil)
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.befriend(ann, ben)
            #expect(try await ReminderRepository.oldestDue(world.database) == world.clock.now())
            try await world.settle()
            let next = try #require(try await ReminderRepository.oldestDue(world.database))
            #expect(next >= moment("2026-05-01T10:00:00Z") && next < moment("2026-05-01T12:00:00Z"))
        }
    }

    /// Daily snaps whose free date of the month was used, and a mutual streak with as many dates, on the morning of a date without a snap.
    private func morningWithoutSnap(_ world: World) async throws -> (solo: RewardWorld, mutual: StreakID) {
        let solo = RewardWorld(
            database: world.database,
            clock: world.clock,
            work: world.work,
            mutations: world.mutations,
            core: StreaksCore(database: world.database, bus: NoServices(), avatars: AvatarLinks(), StreaksModule.extensions)
        )
        let (ann, ben) = (try await world.person(1), try await world.person(2))
        let mutual = try await world.befriend(ann, ben)
        let daily = try await world.work.run(trace: "", requestID: "") { work in
            try await solo.core.writer.start(.init(.dailySnap, of: [ann], key: ann.description), work)
        }
        for date in 1...5 {
            for user in [ann, ben] { try await world.post(user, to: [mutual]) }
            if date != 3 { try await solo.apply(.contribute(ann, receivedAt: world.clock.now(), capturedAt: nil), to: daily) }
            world.clock.advance(by: .days(1))
        }
        return (solo, mutual)
    }

    @Test func `one snap keeps a mutual streak and the daily snaps: one reminder asks for it`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (solo, _) = try await morningWithoutSnap(world)
            try await solo.remind(until: moment("2026-05-06T21:00:01Z"))
            try await world.settle()
            #expect(try await world.events(StreaksAtRisk.self).filter { $0.date == day("2026-05-06") }.count == 2)
            #expect(try await world.events(SoloStreaksAtRisk.self).isEmpty)
        }
    }

    @Test func `without a mutual streak at risk the daily snaps have a reminder of their own`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (solo, mutual) = try await morningWithoutSnap(world)
            try await solo.apply(.end, to: mutual)
            try await solo.remind(until: moment("2026-05-06T21:00:01Z"))
            try await world.settle()
            #expect(try await world.events(StreaksAtRisk.self).filter { $0.date == day("2026-05-06") }.isEmpty)
            #expect(try await world.events(SoloStreaksAtRisk.self).map { $0.streaks.map(\.kind) } == [["daily_snap"]])
        }
    }
}
