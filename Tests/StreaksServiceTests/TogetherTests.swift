import Bus
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCheckIns
@testable import StreaksCore
@testable import StreaksHabits

/// Many users at the same time, whose changes run as one transaction: each gets their own reply, and what is stored is theirs
/// (`SharedTransactions`).
@Suite(.timeLimit(.minutes(10))) struct TogetherTests {
    private struct Person: Sendable {
        let world: HabitWorld
        let number: Int
        let habit: HabitID
    }

    @Test func `completions of many users at once are each user's own, also beside those that are refused`() async throws {
        try await withHabits { world in
            var people: [Person] = []
            for number in 1...24 {
                var own = world
                own.user = UserID(high: 1, low: UInt64(number))
                try await own.register()
                let habit = try await own.create("Habit \(number)", target: Double(1_000 + number))
                if number % 8 == 0 { try await own.delete(habit.id) }
                people.append(Person(world: own, number: number, habit: habit.id))
            }
            for round in 1...4 {
                let replies = await simultaneously(people.count) { [people] place in
                    let person = people[place]
                    return try await person.world.complete(
                        person.habit,
                        value: Double(person.number),
                        note: "\(person.number)"
                    )
                }
                for (person, reply) in zip(people, replies) {
                    switch reply {
                    case .failure(let error):
                        #expect(person.number % 8 == 0 && (error as? ServiceError)?.reason == "HABIT_NOT_FOUND")
                    case .success(let reply):
                        #expect(person.number % 8 != 0 && reply.habitID == person.habit)
                        #expect(reply.value == Double(round * person.number))
                        #expect(reply.targetValue == Double(1_000 + person.number))
                        #expect(reply.completion?.note == "\(person.number)" && reply.completions == Int32(round))
                    }
                }
            }
            let stored = try await world.database.query(
                """
                SELECT user_id, sum(amount)::bigint / 1000, count(*), bool_and(note = (sequence - sequence + amount / 1000)::text)
                FROM habit_completion GROUP BY user_id ORDER BY user_id
                """
            ).map { try $0.decode(as: (UserID.self, Int64.self, Int64.self, Bool.self)) }
            let expected = (1...24).filter { $0 % 8 != 0 }
            #expect(stored.map { Int($0.0.low) } == expected)
            #expect(stored.map { Int($0.1) } == expected.map { 4 * $0 } && stored.allSatisfy { $0.2 == 4 && $0.3 })
        }
    }

    @Test func `check-ins of many users at once are each user's own, once each`() async throws {
        try await withCheckIns { checkIns in
            let (world, handler) = (checkIns.world, checkIns.handler)
            let users = try await Self.users(world)
            for day in 1...3 {
                let now = world.clock.now()
                // Each says it twice at once, with the same key.
                let replies = await simultaneously(2 * users.count) { place in
                    let number = place / 2
                    var context = World.by(users[number])
                    context.idempotencyKey = "day \(day)"
                    let request = CheckInRequest(
                        moodScore: Int32(1 + number % 10),
                        energyLevel: Int32(1 + number % 7),
                        checkInTime: now
                    )
                    return try await Self.answered(handler, request, context)
                }
                for (place, reply) in replies.enumerated() {
                    let (number, data) = (place / 2, try #require(try reply.get().data))
                    #expect(data.streak?.currentStreak == Int32(day) && data.streak?.isFirstCheckInToday == true)
                    #expect(data.trackingEntry?.moodScore == Int32(1 + number % 10))
                    #expect(data.trackingEntry?.energyLevel == Int32(1 + number % 7))
                }
                world.clock.advance(by: .hours(24))
            }
            for (number, user) in users.enumerated() {
                let moods = try await world.database.query(
                    "SELECT mood_score, energy_level, activities FROM tracking_entry WHERE user_id = \(user) ORDER BY on_date"
                ).map { try $0.decode(as: (Int32.self, Int32.self, [String].self)) }
                #expect(moods.map(\.0) == Array(repeating: Int32(1 + number % 10), count: 3))
                #expect(moods.allSatisfy { $0.1 == Int32(1 + number % 7) && $0.2.first == "daily_check_in" })
                let xp = try await world.database.query(
                    """
                    SELECT balance, (SELECT sum(amount) FROM xp_posting p WHERE p.user_id = a.user_id)::bigint, (SELECT count(*)
                        FROM xp_posting p WHERE p.user_id = a.user_id AND cause = 'check_in')
                    FROM xp_account a WHERE user_id = \(user)
                    """
                ).map { try $0.decode(as: (Int64.self, Int64.self, Int64.self)) }
                #expect(xp.count == 1 && xp[0].0 == xp[0].1 && xp[0].2 == 3)
            }
        }
    }

    @Test func `check-ins of many users share transactions also where they complete weeks and reach milestones`() async throws {
        try await withCheckIns { checkIns in
            let (world, handler) = (checkIns.world, checkIns.handler)
            let users = try await Self.users(world)
            func today() -> CalendarDate { Zone.utc.date(at: world.clock.now()) }
            while today() != PerfectPeriods.week(of: today()).lowerBound { world.clock.advance(by: .days(1)) }
            for day in 1...7 {
                let now = world.clock.now()
                let replies = await simultaneously(users.count) { place in
                    let request = CheckInRequest(moodScore: 5, energyLevel: 5, checkInTime: now)
                    return try await handler.handle(request, World.by(users[place])).reply
                }
                let rewards = try replies.map { try $0.get().data?.xpEarned }
                let posted = try await world.database.query(
                    "SELECT sum(amount)::int FROM xp_posting WHERE posted_at = \(now) GROUP BY user_id"
                ).map { try $0.decode(as: Int32.self) }
                #expect(posted.count == users.count && Set(posted).count == 1, "day \(day)")
                #expect(Set(rewards) == [posted.first], "day \(day)")
                let transactions = try await world.database.query(
                    "SELECT count(DISTINCT xmin::text)::int FROM xp_posting WHERE posted_at = \(now)"
                )
                let count = try #require(transactions.first).decode(as: Int32.self)
                #expect(count < users.count, "day \(day): each by itself")
                world.clock.advance(by: .days(1))
            }
            let causes = try await world.database.query(
                "SELECT cause, count(*) FROM xp_posting GROUP BY cause ORDER BY cause"
            ).map { try $0.decode(as: (String.self, Int64.self)) }
            #expect(causes.map(\.0) == ["check_in", "milestone", "perfect_week"])
            #expect(causes.map(\.1) == [7, 2, 1].map { $0 * Int64(users.count) })
        }
    }

    private static func users(_ world: World) async throws -> [UserID] {
        var users: [UserID] = []
        for number in 101...124 { users.append(try await world.person(UInt64(number))) }
        return users
    }

    /// The answer, asked for again while the same request is being answered.
    private static func answered(_ handler: CheckIn, _ request: CheckInRequest, _ context: CallContext) async throws
        -> CheckInReply
    {
        while true {
            do { return try await handler.handle(request, context).reply } catch let error as ServiceError
                where error.reason == "REQUEST_IN_PROGRESS"
            {
                await Task.yield()
            }
        }
    }
}
