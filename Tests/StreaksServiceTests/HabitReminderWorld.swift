import AuthAPI
import Bus
import Database
import Kernel
import Replicas
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import Outbox
@testable import Runtime
@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksHabitReminders
@testable import StreaksService

/// `streaks` with habits and their reminders, all features following, on a database of its own.
struct HabitReminderWorld {
    let world: World
    let core: StreaksCore
    let habits: HabitStore

    init(_ world: World) {
        self.world = world
        core = StreaksCore(
            database: world.database,
            bus: NoServices(),
            avatars: AvatarLinks(base: ""),
            StreaksModule.extensions
        )
        habits = HabitStore(core, work: world.work)
    }

    var job: HabitReminderJob { HabitReminderJob(work: world.work, store: core.store) }
    var now: Instant { world.clock.now() }
    var consumers: [EventHandler] {
        [core.profiles.handler(changed: AccountConsumers(writer: core.writer).profileChanged), EntitlementReplica().handler()]
            + [MotivationConsumer.handler]
    }

    func person(_ number: UInt64, zone: String = "UTC", version: Int64 = 1) async throws -> UserID {
        let id = UserID(high: 1, low: number)
        let profile = ProfileState(
            userID: id,
            version: version,
            username: "person\(number)",
            timeZone: zone,
            status: .active,
            timeZoneSince: now
        )
        try await world.work.consume(ProfileChanged(userID: id, profile: profile), by: consumers)
        return id
    }

    /// A change of a user's habits.
    @discardableResult
    func change<Result: Sendable>(_ user: UserID, _ body: @escaping @Sendable (HabitBook) async throws -> Result) async throws
        -> Result
    {
        try await world.work.run(trace: "", requestID: "") { work in try await body(try await habits.open(user, work)) }
    }

    @discardableResult
    func habit(_ user: UserID, _ name: String, at minute: Int? = nil, days: Set<Int>? = nil, _ schedule: Schedule = .daily)
        async throws -> HabitID
    {
        let time = minute.map { HabitReminderTime(storedMinute: $0, days: days) }
        let details = try HabitDetails(name: name, reminder: time)
        return try await change(user) {
            try await $0.create(HabitBook.NewHabit(details, schedule: schedule), archivesExcess: false)
        }
    }

    func edit(_ user: UserID, _ habit: HabitID, _ edit: HabitEdit) async throws {
        let outcome = try await change(user) { try await $0.edit(try await $0.lock(habit), HabitBook.Edits([edit])) }
        #expect(outcome.refused.isEmpty)
    }

    func completion(_ number: UInt64) -> CompletionID { CompletionID(high: 8, low: number) }

    /// What a tap does.
    @discardableResult
    func tap(_ user: UserID, _ habit: HabitID, _ action: ReminderAction, _ date: String, _ number: Int32? = 0) async throws
        -> AnswerReminderReply
    {
        let request = AnswerReminderRequest(habitID: habit, action: action, date: day(date), reminderNumber: number)
        return try await AnswerReminder(habits: habits, mutations: world.mutations).handle(request, World.by(user)).reply
    }

    func refusal(_ user: UserID, _ habit: HabitID, _ action: ReminderAction, _ date: String, _ number: Int32? = 0) async throws
        -> String?
    {
        do {
            try await tap(user, habit, action, date, number)
            return nil
        } catch let error as ServiceError { return error.reason }
    }

    /// Lets time pass, stopping whenever a user is due.
    func live(until end: String) async throws {
        let end = moment(end)
        while true {
            while try await job.job.run(now) > 0 {}
            guard let next = try await HabitScheduleRepository.oldestDue(world.database), next <= end else { break }
            world.clock.set(max(next, now))
        }
        world.clock.set(end)
    }

    /// Reminders so far: their date, name and number.
    func reminders() async throws -> [String] {
        try await world.events(HabitReminderDue.self).map { "\($0.date) \($0.habitName) \($0.number)" }
    }

    /// What became of reminders so far.
    func answers() async throws -> [String] {
        try await world.events(HabitReminderAnswered.self).map {
            "\($0.date) \($0.habitName) \($0.answer.name)\($0.byAction ? " by action" : "")"
        }
    }
}

nonisolated(nonsending) func withHabitReminders(at start: String, _ body: (HabitReminderWorld) async throws -> Void) async throws
{
    try await withWorld(at: start) { try await body(HabitReminderWorld($0)) }
}
