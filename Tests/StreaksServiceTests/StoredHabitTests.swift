import AuthAPI
import Database
import Foundation
import HabitModel
import Kernel
import Outbox
import Processes
import Replicas
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing
import Wire

@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksService

/// Habits through the database: rows of ledgers, dates, runs and milestones, against the slow model in Python (HA-8 … HA-16).
@Suite(.timeLimit(.minutes(10))) struct StoredHabitTests {
    private static let model = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../StreaksDomainTests/model/habit_model.py").standardizedFileURL.path

    @Test(arguments: TestDepth.seeds(quick: 1, full: 8))
    func `random lives are stored as the model says, whatever was edited, and rows that are made again are the same`(seed: UInt64)
        async throws
    {
        let count = TestDepth.pick(quick: 10, full: 40)
        let result = try await run("python3", [Self.model, "fill", "\(7_000 + seed)", "\(count)"], within: .seconds(600))
        try #require(result.status == 0, "\(result.text) \(result.errors)")
        let file = try JSONDecoder().decode(HabitCases.self, from: Data(result.output))
        #expect(file.cases.count == count)
        for life in file.cases {
            try await withWorld(at: life.at) { world in try await play(life, world) }
        }
    }

    private func play(_ life: HabitCase, _ world: World) async throws {
        var habit = try await StoredHabit(life, world)
        for (index, step) in life.steps.enumerated() {
            world.clock.set(moment(step.at))
            var problems: [String] = []
            do {
                let refused = try await habit.apply(step)
                if refused != step.refused ?? [:] { problems.append("refused \(refused), not \(step.refused ?? [:])") }
                if let error = step.error { problems.append("not refused with \(error)") }
            } catch let refusal as ServiceError {
                if refusal.reason != step.error { problems.append("refused with \(refusal), not \(step.error ?? "–")") }
                try await habit.settle()
            }
            habit.expected += step.reported
            problems += try await habit.milestoneProblems()
            if let expected = step.expect { problems += try await habit.differences(expected) }
            if !problems.isEmpty {
                Issue.record("\(life.name), step \(index + 1) at \(step.at): \(problems.joined(separator: "; "))")
                return
            }
        }
        try await habit.expectSameWhenMadeAgain()
    }
}

/// A habit of one user, as rows.
private struct StoredHabit {
    let world: World
    /// With what all features add to it.
    let core: StreaksCore
    let habits: HabitStore
    let user: UserID
    let id: HabitID
    /// The milestones that the model has reported so far.
    var expected: [Int] = []
    private var version: Int64 = 1

    init(_ life: HabitCase, _ world: World) async throws {
        self.world = world
        user = try await world.person(1, zone: life.zone)
        core = StreaksCore(
            database: world.database,
            bus: NoServices(),
            avatars: AvatarLinks(),
            work: world.work,
            StreaksModule.extensions
        )
        let habits = HabitStore(core, work: world.work)
        self.habits = habits
        let (user, rules) = (user, life.version)
        id = try await world.work.run(trace: "", requestID: "") { work in
            var book = try await habits.open(user, work)
            if book.account.settings.firstDayOfWeek != rules.week_start {
                var settings = book.account.settings
                settings.firstDayOfWeek = rules.week_start
                try await book.store(settings)
                book = try await habits.open(user, work)
            }
            let held = rules.starting(book.date.today)
            return try await book.create(
                HabitBook.NewHabit(try HabitDetails(name: life.name), schedule: held.schedule, target: held.target)
            )
        }
    }

    /// - Returns: what was refused of edits, by place.
    mutating func apply(_ step: HabitCase.Step) async throws -> [String: String] {
        switch step.command(user) {
        case .edit(let edits, let earliest, _):
            let outcome = try await change { book, habit in
                try await book.edit(habit, HabitBook.Edits(edits, earliest: earliest))
            }
            return Dictionary(uniqueKeysWithValues: outcome.refused.map { ("\($0)", $1.reason) })
        case .changeZone(_, let zone, _):
            version += 1
            let profile = ProfileState(
                userID: user,
                version: version,
                username: "person1",
                displayName: "Person 1",
                timeZone: zone.name,
                status: .active,
                timeZoneSince: world.clock.now()
            )
            let accounts = AccountConsumers(writer: core.writer)
            try await world.consume(
                ProfileChanged(userID: user, profile: profile),
                by: [core.profiles.handler(changed: accounts.profileChanged)]
            )
        case .declareOutage(let from, let until):
            // Later than every change that was made without it, as `OutageJob` sees to.
            world.clock.advance(by: Interval(microseconds: 1))
            let now = world.clock.now()
            try await world.database.execute(
                "INSERT INTO outage (id, from_at, until_at, declared_at) VALUES (gen_random_uuid(), \(from), \(until), \(now))"
            )
            try await settle()
        case .pauseHabit(let from, let until):
            try await change { book, habit in try await book.pause(habit, from: from, until: until) }
        case .resumeHabit: try await change { book, habit in try await book.resume(habit) }
        case .archive: try await change { book, habit in try await book.archive(habit) }
        case .unarchive: try await change { book, habit in try await book.unarchive(habit) }
        case .settle: try await settle()
        case let command:
            // With another first day of the week for this habit alone.
            let (habits, user) = (habits, user)
            try await change { book, habit in
                try await habits.writer.apply(
                    command,
                    to: habit.stored,
                    origin: HabitOrigin(user: user, sequence: book.account.sequence),
                    book.work
                )
            }
        }
        return [:]
    }

    @discardableResult
    private func change<Result: Sendable>(
        _ body: @escaping @Sendable (HabitBook, HabitBook.Locked) async throws -> Result
    ) async throws -> Result {
        let (habits, user, id) = (habits, user, id)
        return try await world.work.run(trace: "", requestID: "") { work in
            let book = try await habits.open(user, work)
            return try await body(book, try await book.lock(id))
        }
    }

    /// Also of one in the archive, which `refresh` leaves alone.
    func settle() async throws {
        let habits = habits
        try await change { book, habit in try await habits.bringUpToDate([habit.stored], book.work) }
    }

    func milestoneProblems() async throws -> [String] {
        let stored = try await world.database.query("SELECT count FROM habit_milestone ORDER BY place").map {
            Int(try $0.get(at: 0, as: Int32.self))
        }
        return stored == expected ? [] : ["milestones \(stored), not \(expected)"]
    }

    private func record() async throws -> HabitRecord {
        try #require(try await HabitRepository.records(of: user, world.database).first)
    }

    private func days(_ streak: StreakID) async throws -> [CalendarDate: HabitDay] {
        let rows = try await world.database.query(
            "SELECT on_date, \(HabitDay.columns) FROM habit_day WHERE streak_id = \(streak)"
        )
        return Dictionary(uniqueKeysWithValues: try rows.map { (try $0.get(at: 0), try HabitDay($0, at: 1)) })
    }

    private func runs(_ streak: StreakID) async throws -> [HabitRun] {
        try await world.database.query(
            """
            SELECT from_date, through_date, count, counts, ended, ended_on FROM habit_run
            WHERE streak_id = \(streak) ORDER BY from_date
            """
        ).map { row in
            HabitRun(
                from: try row.get(at: 0),
                through: try row.get(at: 1),
                count: Int(try row.get(at: 2, as: Int32.self)),
                unit: try #require(Schedule.Unit(stored: try row.get(at: 3))),
                end: HabitRun.End(stored: try row.get(at: 4), try row.get(at: 5))
            )
        }
    }

    func differences(_ expected: HabitCase.Expectation) async throws -> [String] {
        let before = try await record()
        if before.isArchived { try await settle() } else { _ = try await habits.refresh(user, World.by(user)) }
        let record = try await record()
        let stored = try #require(try await habits.writer.store.load([record.streak]).first)
        let state = fold(stored.ledger, habits.writer.policy(for: .habit), at: world.clock.now())
        let days = try await days(record.streak)
        var found = HabitComparison(state, days: days, runs: try await runs(record.streak)).differences(expected)
        // A week that is done is stored by its last date, which may be still to come.
        let modelled = Set(expected.days.compactMap { $0[0].string.map(day) })
        let others = days.filter { !modelled.contains($0.key) && $0.value.outcome != .done }
        if !others.isEmpty { found.append("days that the model does not have: \(others.keys.sorted())") }
        if record.count != expected.count { found.append("the row's count \(record.count), not \(expected.count)") }
        if [record.longestDates, record.longestWeeks] != expected.longest { found.append("the row's longest") }
        if "\(record.unit)" != expected.unit { found.append("the row's unit \(record.unit)") }
        if record.week != state.habit?.week { found.append("the row's week") }
        return found
    }

    /// Rows are made again from the start after a change of clocks: they must be those that small changes have led to.
    func expectSameWhenMadeAgain() async throws {
        let streak = try await record().streak
        try await settle()
        let (days, runs) = (try await days(streak), try await runs(streak))
        let user = user
        try await world.work.run(trace: "", requestID: "") { work in try HabitDays.setStale(of: user, work.sql) }
        try await settle()
        let again = (days: try await self.days(streak), runs: try await self.runs(streak))
        #expect(again.days == days)
        #expect(again.runs == runs)
    }
}
