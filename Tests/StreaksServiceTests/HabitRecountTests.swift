import Database
import Kernel
import Outbox
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksHabits

/// What is stored of habits equals a recount of their whole ledgers, whatever was edited in whatever order (HA-8 … HA-14).
@Suite(.timeLimit(.minutes(10))) struct HabitRecountTests {
    @Test(arguments: TestDepth.seeds(quick: 3, full: 40))
    func `random edits leave the rows that a fold of the whole ledger gives`(seed: UInt64) async throws {
        let zones = ["UTC", "Europe/Berlin", "Pacific/Auckland", "America/Los_Angeles"]
        try await withHabits(zone: zones[Int(seed % 4)]) { world in
            try await world.premium()
            var life = RandomHabits(world, Seeded(100 + seed))
            try await life.begin()
            for step in 0..<TestDepth.pick(quick: 60, full: 150) {
                let what = try await life.step()
                guard step % 3 == 2 else { continue }
                let problems = try await life.problems()
                if !problems.isEmpty {
                    Issue.record("seed \(seed), step \(step), \(what): \(problems.joined(separator: "; "))")
                    return
                }
            }
            #expect(life.done > 20, "most steps do something")
        }
    }
}

/// A person who edits some habits at random.
private struct RandomHabits {
    let world: HabitWorld
    var random: Seeded
    /// How many steps were not refused.
    var done = 0
    private var ids: [HabitID] = []
    private var version: Int64 = 1

    init(_ world: HabitWorld, _ random: Seeded) { (self.world, self.random) = (world, random) }

    private static let schedules: [HabitSchedule] = [
        .daily, .weekdays(1, 3, 5), .weekdays(0, 6), .every(3), .weekly(1), .weekly(3), .monthly(1, 15, 31),
    ]
    /// What a person may be refused.
    private static let refusals: Set<String> = [
        "DATE_IN_FUTURE", "DATE_TOO_OLD", "DATE_NOT_DUE", "HABIT_ARCHIVED", "ALREADY_PAUSED", "NOT_PAUSED", "VALIDATION_ERROR",
    ]

    mutating func begin() async throws {
        for number in 0..<4 {
            let target = random.chance(40) ? 3.0 : nil
            ids.append(try await world.create("Habit \(number)", random.pick(Self.schedules), target: target).id)
        }
    }

    /// - Returns: what was done.
    mutating func step() async throws -> String {
        if random.chance(45) { world.clock.advance(by: .hours(Int64.random(in: 1...40, using: &random))) }
        let (habit, date) = (random.pick(ids), try await date())
        let action = Int.random(in: 0..<100, using: &random)
        do {
            try await act(action, habit, date)
            done += 1
        } catch let refusal as ServiceError where Self.refusals.contains(refusal.reason) {
            return "\(action) refused with \(refusal.reason)"
        }
        return "\(action) on \(date)"
    }

    private mutating func date() async throws -> CalendarDate {
        let today = try await world.habits.date(of: world.user, world.context).today
        return today.advanced(by: Int.random(in: -8...1, using: &random))
    }

    private mutating func act(_ action: Int, _ habit: HabitID, _ date: CalendarDate) async throws {
        switch action {
        case ..<45:
            let value = random.chance(50) ? Double(Int.random(in: 1...4, using: &random)) : nil
            try await world.complete(habit, on: "\(date)", value: value)
        case ..<55: try await editCompletion(of: habit)
        case ..<64: try await world.skip(habit, on: "\(date)")
        case ..<68: try await world.unskip(habit, on: "\(date)")
        case ..<73:
            let from = date.advanced(by: 3)
            try await world.pause(habit, from: "\(from)", until: "\(from.advanced(by: Int.random(in: 1...10, using: &random)))")
        case ..<76: try await world.resume(habit)
        case ..<79: try await world.archive(habit)
        case ..<84: try await world.unarchive(habit)
        case ..<90:
            var request = UpdateHabitRequest(habitID: habit)
            if random.chance(60) { request.schedule = random.pick(Self.schedules) }
            if random.chance(40) { request.targetValue = 2 } else if random.chance(30) { request.clear = ["target_value"] }
            try await world.update(request)
        case ..<92:
            try await world.delete(habit)
            try await world.undelete(habit)
        case ..<94:
            try await world.settings(
                UpdateHabitSettingsRequest(firstDayOfWeek: Int32.random(in: 0...6, using: &random))
            )
        case ..<96:
            version += 1
            try await world.register(zone: random.pick(["UTC", "Asia/Tokyo", "America/New_York"]), version: version)
        case ..<98: try await outage()
        default: try await world.settle()
        }
    }

    private mutating func editCompletion(of habit: HabitID) async throws {
        let list = try await ListCompletions(habits: world.habits)
            .handle(ListCompletionsRequest(habitID: habit, limit: 12), world.context).completions.compactMap(\.completion)
        guard !list.isEmpty else { return }
        let completion = random.pick(list)
        if random.chance(50) {
            try await world.delete(completion.id, of: habit)
        } else {
            try await world.change(UpdateCompletionRequest(habitID: habit, completionID: completion.id, value: 5))
        }
    }

    /// Some hours of the last days are declared lost.
    private mutating func outage() async throws {
        let until = world.clock.now() - .hours(Int64.random(in: 1...60, using: &random))
        let id: OutageID = UUIDv7Source(clock: world.clock).make()
        try await world.database.execute(
            "INSERT INTO outage (id, from_at, until_at) VALUES (\(id), \(until - .hours(3)), \(until))"
        )
        world.clock.advance(by: .seconds(10))
        let job = OutageJob(writer: world.core.writer, work: world.work, clock: world.clock).job
        while try await job.run(world.clock.now()) > 0 {}
        // It holds a moment after its declaration.
        world.clock.advance(by: .seconds(5))
        while try await job.run(world.clock.now()) > 0 {}
    }

    // MARK: the recount

    /// Where rows are not what the fold of the whole ledger says.
    func problems() async throws -> [String] {
        _ = try await world.habits.refresh(world.user, world.context)
        var problems: [String] = []
        for record in try await HabitRepository.records(of: world.user, world.database) {
            let whole = try #require(try await world.core.store.load([record.streak], isWhole: true).first)
            let instant = record.isArchived ? whole.row.settledAt : world.clock.now()
            let state = fold(whole.ledger, world.core.writer.policy(for: .habit), at: max(instant, whole.row.settledAt))
            guard let habit = state.habit else { return ["\(record.id) is no habit"] }
            problems += try await differences(record, state, habit)
        }
        return problems
    }

    private func differences(_ record: HabitRecord, _ state: StreakState, _ habit: HabitState) async throws -> [String] {
        let name = record.details.name
        var problems: [String] = []
        let rows = try await world.database.query(
            "SELECT on_date, \(HabitDay.columns) FROM habit_day WHERE streak_id = \(record.streak)"
        )
        let days = Dictionary(
            uniqueKeysWithValues: try rows.map { (try $0.get(at: 0, as: CalendarDate.self), try HabitDay($0, at: 1)) }
        )
        for date in Set(days.keys).union(habit.days.keys).sorted() where days[date] != habit.days[date] {
            problems.append(
                "\(name) on \(date): \(days[date].map { "\($0)" } ?? "–"), not \(habit.days[date].map { "\($0)" } ?? "–")"
            )
        }
        let runs = try await world.database.query(
            "SELECT \(HabitRun.columns) FROM habit_run WHERE streak_id = \(record.streak) ORDER BY from_date"
        ).map { try HabitRun($0) }
        if runs != habit.runs { problems.append("\(name): runs \(runs), not \(habit.runs)") }
        if record.count != state.count { problems.append("\(name): count \(record.count), not \(state.count)") }
        if record.unit != habit.unit { problems.append("\(name): unit \(record.unit)") }
        if [record.longestDates, record.longestWeeks] != [habit.longestDates, habit.longestWeeks] {
            problems.append("\(name): longest \(record.longestDates), \(record.longestWeeks)")
        }
        if record.week != habit.week { problems.append("\(name): week \(record.week.map { "\($0)" } ?? "–")") }
        if let problem = weekProblem(record, habit) { problems.append("\(name): \(problem)") }
        return problems
    }

    /// The screen of a date makes a week of its dates: of today's the same comes out. After a journey a date may be over that the clock shows again;
    /// those in the archive are on no screen.
    private func weekProblem(_ record: HabitRecord, _ habit: HabitState) -> String? {
        guard version == 1, !record.isArchived else { return nil }
        let week = HabitWeek.on(
            habit.today,
            record.versions,
            since: habit.startsOn,
            habit.days.filter { $0.key <= habit.today }.mapValues(\.status),
            isPaused: { date in record.pauses.contains { $0.from <= date && date < $0.until } }
        )
        guard week != habit.week else { return nil }
        return "the week of today \(week.map { "\($0)" } ?? "–"), not \(habit.week.map { "\($0)" } ?? "–")"
    }
}
