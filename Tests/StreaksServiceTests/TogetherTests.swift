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

    private struct Entry: Sendable {
        let number: Int
        let reply: Result<HabitEntryReply, any Error>
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
                let entries = await withTaskGroup(of: Entry.self) { group in
                    for person in people {
                        group.addTask {
                            let number = person.number
                            let task = Task {
                                try await person.world.complete(person.habit, value: Double(number), note: "\(number)")
                            }
                            return Entry(number: number, reply: await task.result)
                        }
                    }
                    var entries: [Entry] = []
                    for await entry in group { entries.append(entry) }
                    return entries
                }
                for entry in entries {
                    switch entry.reply {
                    case .failure(let error):
                        #expect(entry.number % 8 == 0 && (error as? ServiceError)?.reason == "HABIT_NOT_FOUND")
                    case .success(let reply):
                        let person = people[entry.number - 1]
                        #expect(entry.number % 8 != 0 && reply.habitID == person.habit)
                        #expect(reply.value == Double(round * entry.number) && reply.targetValue == Double(1_000 + entry.number))
                        #expect(reply.completion?.note == "\(entry.number)" && reply.completions == Int32(round))
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

    private struct CheckedIn: Sendable {
        let number: Int
        let reply: CheckInReply
    }

    @Test func `check-ins of many users at once are each user's own, once each`() async throws {
        try await withCheckIns { checkIns in
            let world = checkIns.world
            let handler = CheckIn(
                recorder: CheckInRecorder(streaks: checkIns.parts.streaks),
                mutations: world.mutations,
                clock: world.clock
            )
            var users: [UserID] = []
            for number in 101...124 { users.append(try await world.person(UInt64(number))) }
            for day in 1...3 {
                let now = world.clock.now()
                let replies = try await withThrowingTaskGroup(of: CheckedIn.self) { group in
                    for (number, user) in users.enumerated() {
                        // Each says it twice at once, with the same key.
                        for _ in 0..<2 {
                            group.addTask {
                                var context = World.by(user)
                                context.idempotencyKey = "day \(day)"
                                let request = CheckInRequest(
                                    moodScore: Int32(1 + number % 10),
                                    energyLevel: Int32(1 + number % 7),
                                    checkInTime: now
                                )
                                return CheckedIn(number: number, reply: try await Self.answered(handler, request, context))
                            }
                        }
                    }
                    var replies: [CheckedIn] = []
                    for try await reply in group { replies.append(reply) }
                    return replies
                }
                #expect(replies.count == 2 * users.count)
                for checkedIn in replies {
                    let data = try #require(checkedIn.reply.data)
                    #expect(data.streak?.currentStreak == Int32(day) && data.streak?.isFirstCheckInToday == true)
                    #expect(data.trackingEntry?.moodScore == Int32(1 + checkedIn.number % 10))
                    #expect(data.trackingEntry?.energyLevel == Int32(1 + checkedIn.number % 7))
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
