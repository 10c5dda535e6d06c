import AuthAPI
import BillingAPI
import Database
import Kernel
import NotificationsAPI
import SocialAPI
import StreaksAPI
import Synchronization
import TestSupport
import Testing
import Wire

@testable import NotificationsCore
@testable import NotificationsPush

/// Counts statements, and those that failed by a deadlock.
private final class StatementCounter: DatabaseObserver {
    private let all = Atomic(0)
    private let rings = Atomic(0)
    var count: Int { all.load(ordering: .relaxed) }
    var deadlocks: Int { rings.load(ordering: .relaxed) }

    func statementEnded(_ kind: StatementKind, error: DatabaseError.Code?, duration: Duration) {
        all.add(1, ordering: .relaxed)
        if error == .deadlock { rings.add(1, ordering: .relaxed) }
    }
}

/// Events that come at once: what they do together is what each does alone, for few statements.
struct BatchTests {
    @Test(arguments: TestDepth.seeds(quick: 6, full: 60))
    func `random events do together what they do one by one`(seed: UInt64) async throws {
        let alone = try await outcome(seed, mostTogether: 1)
        #expect(alone.contains { $0.hasPrefix("push ") } && alone.contains { $0.hasPrefix("entry ") })
        for most in [7, 100] {
            let together = try await outcome(seed, mostTogether: most)
            #expect(together == alone, "\(most) at once")
        }
    }

    @Test func `one of whom nothing is known here yet fails all of its batch, which leaves nothing behind`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            let events = [
                snap(from: ben, to: ann, 1), snap(from: UserID(high: 1, low: 99), to: ann, 2), snap(from: ben, to: ann, 3),
            ]
            await #expect(throws: ServiceError.self) { try await world.consumeTogether(events) }
            for table in ["notification", "delivery", "push_day", "live_event"] {
                #expect(try await world.database.query("SELECT 1 FROM \(identifier: table)").isEmpty, "\(table)")
            }
            try await world.person(99)
            try await world.consumeTogether(events)
            #expect(try await world.list(ann).unreadCount == 3)
            #expect(try await world.states() == ["queued 3"])
        }
    }

    @Test func `events for 2,000 users are queued by a bounded number of statements`() async throws {
        let counter = StatementCounter()
        try await withWorld(observer: counter) { world in
            let author = try await world.person(1)
            try await seedUsers(2_000, world.database)
            let events = (0..<2_000).map { snap(from: author, to: UserID(high: 9, low: UInt64($0)), UInt64($0)) }
            let before = counter.count
            for start in stride(from: 0, to: events.count, by: 500) {
                try await world.consumeTogether(Array(events[start..<start + 500]))
            }
            // Those that publish the 8,000 live events meanwhile are among them.
            #expect(counter.count - before < 300)
            #expect(try await world.states() == ["queued 2000"])
            let unread = try await world.database.query("SELECT count(*)::int FROM live_event WHERE data LIKE '%unread_count%1}'")
            #expect(try unread.first?.decode(as: Int32.self) == 2_000)
        }
    }

    @Test func `batches about the same users, in opposite orders, never wait for each other in a ring`() async throws {
        let counter = StatementCounter()
        try await withWorld(observer: counter) { world in
            var people: [UserID] = []
            for number in UInt64(1)...12 {
                people.append(try await world.person(number))
                try await world.device(people[people.count - 1], "phone-\(number)")
            }
            let users = people
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for order in [users, users.reversed()] {
                    tasks.addTask {
                        for round in UInt64(0)..<8 {
                            let events = order.indices.dropFirst().map { index -> any Event in
                                broken(order[index - 1], order[index], round * 100 + UInt64(index))
                            }
                            try await world.consumeTogether(events)
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            #expect(counter.deadlocks == 0)
            // Eleven breaks of two users in each of eight rounds, twice.
            let entries = 11 * 2 * 8 * 2
            #expect(try await world.database.query("SELECT 1 FROM notification").count == entries)
            let gaps = try await world.database.query(
                """
                SELECT 1 FROM live_user u WHERE last_id <> (SELECT count(*) FROM live_event e WHERE e.user_id = u.user_id)
                    OR last_id <> (SELECT max(id) FROM live_event e WHERE e.user_id = u.user_id)
                """
            )
            #expect(gaps.isEmpty)
            let first = try await world.list(users[0]).unreadCount
            #expect(first == 16)
            // A date has four open places and one that is kept for a break.
            let pushes = try await world.database.query(
                "SELECT max(number)::int FROM (SELECT count(*) AS number FROM delivery GROUP BY user_id) AS pushes"
            )
            #expect(try pushes.first?.decode(as: Int32.self) == 5)
        }
    }

    // MARK: - Random events

    /// What the same random events come to for the same random people, at most so many of them at once.
    private func outcome(_ seed: UInt64, mostTogether: Int) async throws -> [String] {
        var random = Seeded(seed &+ 1)
        var outcome: [String] = []
        try await withWorld(at: noon + .hours(Int64.random(in: 0..<24, using: &random))) { world in
            let people = try await randomPeople(world, &random)
            var events = (0..<60).map { randomEvent(people, UInt64($0), at: world.clock.now(), &random) }
            while !events.isEmpty {
                let count = mostTogether == 1 ? 1 : min(events.count, Int.random(in: 1...mostTogether, using: &random))
                if mostTogether == 1 {
                    try await world.consume(events[0])
                } else {
                    try await world.consumeTogether(Array(events.prefix(count)))
                }
                events.removeFirst(count)
            }
            outcome = try await stored(world.database)
        }
        return outcome
    }

    /// Everything that the events left behind, without the ids of entries and pushes.
    private func stored(_ database: Database) async throws -> [String] {
        let statements: [Query] = [
            """
            SELECT concat_ws('|', 'entry ' || user_id, kind, wording, count, others, amount, subject, emoji, coalesce(actor_id::text, '-'),
                coalesce(streak_id::text, '-'), coalesce(friendship_id::text, '-'), coalesce(habit_id::text, '-'), created_at, coalesce(read_at::text, '-'))
            FROM notification ORDER BY user_id, id
            """,
            """
            SELECT concat_ws('|', 'push ' || d.user_id, v.token, n.kind, n.count, coalesce(n.actor_id::text, '-'), d.state, d.due_at,
                d.useless_at, d.created_at)
            FROM delivery d JOIN device v ON v.id = d.device_id JOIN notification n ON n.id = d.notification_id
            ORDER BY d.user_id, n.id, v.token
            """,
            "SELECT concat_ws('|', 'day ' || user_id, on_date, open_taken, kept) FROM push_day ORDER BY user_id, on_date",
            // Two features append to a user's stream; each does so in the order of the events.
            """
            SELECT concat_ws('|', 'live ' || user_id, name, CASE name WHEN 'notification' THEN substr(data, strpos(data, 'type')) ELSE data END)
            FROM live_event ORDER BY user_id, name = 'streak', id
            """,
            "SELECT concat_ws('|', 'counter ' || user_id, last_id) FROM live_user ORDER BY user_id",
        ]
        var lines: [String] = []
        for statement in statements { lines += try await database.query(statement).map { try $0.decode(as: String.self) } }
        return lines
    }

    /// Eight users: some with other wishes, hours and zones, one suspended, one without an account, two of whom one blocks the other.
    private func randomPeople(_ world: World, _ random: inout Seeded) async throws -> [UserID] {
        var people: [UserID] = []
        for number in UInt64(1)...8 {
            let zone = random.pick(["UTC", "Europe/Berlin", "Asia/Tokyo", "America/New_York"])
            let user = try await world.person(number, zone: zone)
            people.append(user)
            for device in 0..<Int.random(in: 0...2, using: &random) { try await world.device(user, "phone-\(number)-\(device)") }
            if random.chance(30) { try await world.update(user, UpdatePreferencesRequest(friendPosted: false)) }
            if random.chance(30) { try await world.update(user, UpdatePreferencesRequest(milestone: false, nudges: false)) }
            if random.chance(30) { try await world.update(user, UpdatePreferencesRequest(quietStartHour: 18)) }
        }
        try await world.person(6, status: .suspended, version: 2)
        try await world.person(7, status: .deleted, version: 2)
        let block = BlockState(
            blockID: BlockID(high: 8, low: 8),
            version: 1,
            blockerID: people[0],
            blockedID: people[3],
            active: true,
            changedAt: noon
        )
        try await world.consume(UserBlocked(blockID: block.blockID, block: block))
        return people
    }

    private func randomEvent(_ people: [UserID], _ number: UInt64, at now: Instant, _ random: inout Seeded) -> any Event {
        let shuffled = people.shuffled(using: &random)
        let (one, two) = (shuffled[0], shuffled[1])
        let others = Array(shuffled[1..<Int.random(in: 2...4, using: &random)])
        let streak = StreakID(high: 4, low: number % 9)
        let friendship = FriendshipID(high: 7, low: number % 9)
        let count = Int32.random(in: 1...40, using: &random)
        let date = Zone.utc.date(at: now)
        let end = now + .minutes(Int64.random(in: -10...200, using: &random))
        switch Int.random(in: 0..<17, using: &random) {
        case 0, 1: return snap(from: one, to: two, number % 9)
        case 2: return broken(one, two, number % 9)
        case 3: return MilestoneReached(streakID: streak, userAID: one, userBID: two, count: count, date: date, earnsToken: true)
        case 4: return StreakRestored(streakID: streak, userAID: one, userBID: two, count: count)
        case 5:
            return StreakRecovered(
                streakID: streak,
                userAID: one,
                userBID: two,
                recoveredByUserID: random.pick([one, two]),
                count: count,
                fromDate: date,
                throughDate: date,
                inAdvance: random.chance(50)
            )
        case 6: return FriendRequestSent(friendshipID: friendship, fromUserID: one, toUserID: two)
        case 7: return FriendshipAccepted(friendshipID: friendship, requesterID: one, accepterID: two)
        case 8: return FriendNudged(friendshipID: friendship, fromUserID: one, toUserID: two, streakID: streak)
        case 9, 10:
            let streaks = others.map { StreakAtRisk(streakID: streak, friendID: $0, currentCount: count, deadlineAt: end) }
            return StreaksAtRisk(userID: one, date: date, dayEndsAt: end, streaks: streaks)
        case 11: return SnapWindowOpened(userID: one, date: date, promptText: "Lunch", closesAt: end, waitingFriendIDs: others)
        case 12: return SnapWindowClosing(userID: one, date: date, promptText: "Lunch", closesAt: end, waitingFriendIDs: others)
        case 13:
            return ModerationActionTaken(
                actionID: ModerationActionID(high: 5, low: number),
                userID: one,
                action: random.pick([.dismiss, .warn]),
                moderatorID: UserID(high: 1, low: 1),
                reportID: ReportID(high: 6, low: number),
                reporterID: random.chance(50) ? two : nil
            )
        case 14:
            let habit = HabitID(high: 6, low: number % 9)
            return HabitReminderDue(
                userID: one,
                habitID: habit,
                streakID: streak,
                date: date,
                habitName: "Read",
                usefulUntil: end
            )
        case 15: return HabitsLeftToday(userID: one, date: date, left: count, usefulUntil: end)
        default: return StreakEnded(streakID: streak, userAID: one, userBID: two)
        }
    }
}

private func snap(from author: UserID, to reader: UserID, _ streak: UInt64) -> SnapCounted {
    SnapCounted(
        streakID: StreakID(high: 4, low: streak),
        userID: author,
        friendID: reader,
        date: Zone.utc.date(at: noon),
        currentCount: 3
    )
}

private func broken(_ one: UserID, _ two: UserID, _ streak: UInt64) -> StreakBroken {
    StreakBroken(
        streakID: StreakID(high: 4, low: streak),
        userAID: one,
        userBID: two,
        count: 9,
        missedDate: Zone.utc.date(at: noon)
    )
}

/// Users `UserID(high: 9, low: 0…)` with a device each.
private func seedUsers(_ count: Int, _ database: Database) async throws {
    let users = (0..<count).map { UserID(high: 9, low: UInt64($0)) }
    let names = users.indices.map { "seeded\($0)" }
    let tokens = names.map { World.token($0) }
    let active = Int16(AccountStatus.active.rawValue)
    _ = try await database.execute(
        """
        INSERT INTO profile_replica (user_id, version, username, display_name, avatar_key, time_zone, time_zone_since, status)
        SELECT user_id, 1, name, name, '', 'UTC', '2026-01-01', \(active) FROM unnest(\(users), \(names)) AS seeded (user_id, name)
        """
    )
    _ = try await database.execute(
        """
        INSERT INTO device (id, token, user_id, platform, app_version, locale, registered_at)
        SELECT user_id, token, user_id, 1, '1.0', 'en', '2026-01-01' FROM unnest(\(users), \(tokens)) AS seeded (user_id, token)
        """
    )
}
