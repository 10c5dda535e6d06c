import Database
import Kernel
import Outbox
import StreaksAPI
import StreaksDomain
import Testing

@testable import StreaksCore
@testable import StreaksHabitReminders

/// The job of habits' reminders: shared by replicas, stopped anywhere, and fast enough for a minute in which thousands are due.
@Suite(.timeLimit(.minutes(10))) struct HabitReminderJobTests {
    private struct Crash: Error {}

    /// Users with a habit that reminds at 8, as the core would have written them.
    private func crowd(_ count: Int, _ world: HabitReminderWorld) async throws {
        let database = world.world.database
        for statement in [
            """
            INSERT INTO streak (id, kind, status, started_at, settled_at)
            SELECT ('00000000-0000-0003-0000-' || lpad(to_hex(n), 12, '0'))::uuid, \(StreakKind.habit.rawValue), 1, \(world.now),
                \(world.now) FROM generate_series(1, \(count)) AS n
            """,
            """
            INSERT INTO streak_member (streak_id, user_id, joined_at)
            SELECT ('00000000-0000-0003-0000-' || lpad(to_hex(n), 12, '0'))::uuid,
                ('00000000-0000-0002-0000-' || lpad(to_hex(n), 12, '0'))::uuid, \(world.now) FROM generate_series(1, \(count)) AS n
            """,
            """
            INSERT INTO habit_version (streak_id, from_date, schedule, numbers, week_start)
            SELECT ('00000000-0000-0003-0000-' || lpad(to_hex(n), 12, '0'))::uuid, \(day("2026-05-04")), 1, '{}', 1
            FROM generate_series(1, \(count)) AS n
            """,
            """
            INSERT INTO habit (user_id, id, streak_id, name, name_key, color, icon, reminder_minute, position, created_at, updated_at,
                as_of, sequence)
            SELECT ('00000000-0000-0002-0000-' || lpad(to_hex(n), 12, '0'))::uuid, gen_random_uuid(),
                ('00000000-0000-0003-0000-' || lpad(to_hex(n), 12, '0'))::uuid, 'Read', 'read', '#6366F1', 'book', 480, 1,
                \(world.now), \(world.now), \(day("2026-05-04")), 1
            FROM generate_series(1, \(count)) AS n
            """,
        ] as [Query] {
            _ = try await database.execute(statement)
        }
        for table in ["streak", "streak_member", "habit", "habit_version", "habit_reminder", "habit_reminder_schedule"] {
            _ = try await database.execute("ANALYZE \(identifier: table)")
        }
    }

    @Test func `10,000 reminders that are due in one minute leave in forty batches`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            try await crowd(10_000, world)
            // When each is due is worked out first.
            try await world.live(until: "2026-05-04T07:59:59Z")
            world.world.clock.set(moment("2026-05-04T08:00:00Z"))
            var batches = 0
            while try await world.job.job.run(world.now) > 0 { batches += 1 }
            let sent = try await world.world.events(HabitReminderDue.self)
            #expect(sent.count == 10_000 && Set(sent.map(\.userID)).count == 10_000)
            // Each takes a few statements, however many are in it.
            #expect(batches <= 40)
        }
    }

    @Test func `replicas share what is due; stopped in the middle, nothing is lost and nothing emitted twice`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            try await crowd(30, world)
            try await world.live(until: "2026-05-04T07:59:59Z")
            world.world.clock.set(moment("2026-05-04T08:00:00Z"))
            let (now, job, work) = (world.now, world.job, world.world.work)
            await #expect(throws: Crash.self) {
                try await work.run(trace: "", requestID: "") { work in
                    #expect(try await job.emit(dueAt: now, limit: 7, work) == 7)
                    throw Crash()
                }
            }
            #expect(try await world.reminders().isEmpty)
            let total = try await withThrowingTaskGroup(of: Int.self) { replicas in
                for _ in 0..<6 {
                    replicas.addTask {
                        var total = 0
                        // A replica that finds nothing may have been passed over by others' locks: it tries again.
                        for _ in 0..<40 {
                            total += try await work.run(trace: "", requestID: "") { work in
                                try await job.emit(dueAt: now, limit: 3, work)
                            }
                        }
                        return total
                    }
                }
                return try await replicas.reduce(0, +)
            }
            #expect(total == 30)
            let users = try await world.world.events(HabitReminderDue.self).map(\.userID)
            #expect(users.count == 30 && Set(users).count == 30)
        }
    }

    @Test func `a job that was away reminds late while it is of use, and drops what is not`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            let ann = try await world.person(1)
            try await world.habit(ann, "Read", at: 480)
            try await world.live(until: "2026-05-04T07:00:00Z")
            world.world.clock.set(moment("2026-05-04T10:59:00Z"))
            try await world.live(until: "2026-05-04T11:00:00Z")
            #expect(try await world.reminders() == ["2026-05-04 Read 0"])
            world.world.clock.set(moment("2026-05-06T11:01:00Z"))
            try await world.live(until: "2026-05-06T12:00:00Z")
            #expect(try await world.reminders().count == 1)
            // Yesterday evening's is past, too.
            #expect(try await world.world.events(HabitsLeftToday.self).isEmpty)
        }
    }

    @Test func `who is due is found by the index`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            try await crowd(10_000, world)
            try await world.live(until: "2026-05-04T07:00:00Z")
            _ = try await world.world.database.execute(
                "UPDATE habit_reminder_schedule SET next_at = next_at + interval '3 days' WHERE user_id::text NOT LIKE '%00'"
            )
            _ = try await world.world.database.execute("ANALYZE habit_reminder_schedule")
            let query = HabitScheduleRepository.dueQuery(at: moment("2026-05-04T08:00:00Z"), limit: 100)
            let plan = try await world.world.database.query("EXPLAIN \(query)").map { try $0.decode(as: String.self) }
                .joined(separator: "\n")
            #expect(plan.contains("Index Scan using habit_reminder_schedule_due"), "\(plan)")
            #expect(!plan.contains("Seq Scan") && !plan.contains("Sort"), "\(plan)")
        }
    }
}
