import Database
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore

/// What a user does before midnight and the database is only reached after it, because the pool is full at midnight or a photo had to be
/// decoded first: it counts for the date of its receipt (SD-1), and no member receives word of a break that never was.
@Suite("Received before midnight, written after it", .timeLimit(.minutes(10)))
struct MidnightTests {
    /// Starts `body`, lets the clock pass midnight while it waits for a table, and gives its result.
    private func across<Result: Sendable>(
        _ midnight: Instant,
        waitingFor table: String,
        _ database: Database,
        _ clock: ManualClock,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        clock.set(midnight - .seconds(1))
        let waiting = try await database.transaction { holder in
            try await holder.execute("LOCK TABLE \(identifier: table)")
            let waiting = Task { try await body() }
            try await eventually {
                try await !database.query(
                    """
                    SELECT 1 FROM pg_locks WHERE NOT granted AND relation = to_regclass(\(table))
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    """
                ).isEmpty
            }
            clock.set(midnight + .seconds(2))
            return waiting
        }
        return try await waiting.value
    }

    @Test func `a snap keeps the streak, and no break is reported to either of the two`() async throws {
        try await withWorld(at: "2026-05-01T12:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            for user in [ann, ben] { try await world.post(user, to: [streak]) }
            world.clock.set(moment("2026-05-02T12:00:00Z"))
            try await world.post(ben, to: [streak])
            world.clock.set(moment("2026-05-03T00:00:05Z"))
            let reply = try await world.service.recordContribution(
                RecordContributionRequest(
                    operationID: UUIDv7Source(clock: SystemClock()).make(),
                    userID: ann,
                    streakIDs: [streak],
                    receivedAt: moment("2026-05-02T23:59:59Z")
                ),
                context: World.by(ann)
            )
            let outcome = try #require(reply.outcomes.first)
            #expect(outcome.date == day("2026-05-02") && outcome.dateCompleted && outcome.currentCount == 2)
            try await world.settle()
            world.clock.set(moment("2026-05-03T12:00:00Z"))
            try await world.settle()
            #expect(try await world.events(StreakBroken.self).isEmpty)
            #expect(try await world.events(StreakRestored.self).isEmpty)
        }
    }

    @Test func `a snap that is written after the date was settled still undoes the break`() async throws {
        try await withWorld(at: "2026-05-01T12:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            for user in [ann, ben] { try await world.post(user, to: [streak]) }
            world.clock.set(moment("2026-05-02T12:00:00Z"))
            try await world.post(ben, to: [streak])
            world.clock.set(moment("2026-05-03T00:02:00Z"))
            try await world.settle()
            #expect(try await world.events(StreakBroken.self).count == 1)
            let reply = try await world.service.recordContribution(
                RecordContributionRequest(
                    operationID: UUIDv7Source(clock: SystemClock()).make(),
                    userID: ann,
                    streakIDs: [streak],
                    receivedAt: moment("2026-05-02T23:59:59Z")
                ),
                context: World.by(ann)
            )
            #expect(reply.outcomes.first?.currentCount == 2)
            #expect(try await world.events(StreakRestored.self).count == 1)
        }
    }

    @Test func `an activity counts for the date of its receipt`() async throws {
        try await withTyped { world in
            try await world.record()
            let reply = try await across(
                moment("2026-01-07T00:00:00Z"),
                waitingFor: "profile_replica",
                world.database,
                world.clock
            ) { try await world.record() }
            #expect(reply.date == day("2026-01-06") && !reply.alreadyRecorded)
            #expect(try await world.streak().currentStreak == 2)
        }
    }

    @Test func `a check-in to a circle counts for the date of its receipt`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (teams, circle) = (Teams(world), Teams.circle(1))
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await teams.set(circle, 1, [ann, ben])
            for user in [ann, ben] { _ = try await teams.checkIn(user, circle) }
            world.clock.set(moment("2026-05-02T08:00:00Z"))
            _ = try await teams.checkIn(ann, circle)
            let reply = try await across(
                moment("2026-05-03T00:00:00Z"),
                waitingFor: "circle_replica",
                world.database,
                world.clock
            ) { try await teams.checkIn(ben, circle) }
            #expect(reply.date == day("2026-05-02") && reply.dateCompleted && reply.currentCount == 2)
        }
    }

    @Test func `a pause holds for the date on which it was asked for, and no freeze is spent on it`() async throws {
        try await withCheckIns { life in
            try await life.checkIn()
            let paused = try await across(
                moment("2026-01-07T00:00:00Z"),
                waitingFor: "streak_identity",
                life.world.database,
                life.clock
            ) { try await life.pause(until: day("2026-01-20")) }
            #expect(paused.pauseStartDate == day("2026-01-06") && paused.currentStreak == 1)
            try await life.world.settle()
            let status = try await life.status()
            #expect(status.paused && status.currentStreak == 1 && status.freezesAvailable == 1)
            #expect(try await life.world.events(FreezeUsed.self).isEmpty)
        }
    }

    @Test func `an insurance protects the date on which it was asked for`() async throws {
        try await withTyped { world in
            // The 7th is the month's free date.
            try await world.recordDaily(5...6)
            try await world.grant(["insurance": 1], operation: 1)
            let used = try await across(
                moment("2026-01-09T00:00:00Z"),
                waitingFor: "profile_replica",
                world.database,
                world.clock
            ) { try await world.use(.insurance, .recipeCreation) }
            #expect(used.currentStreak == 2)
            try await world.go(to: "2026-01-09T12:00:00Z")
            try await world.record()
            #expect(try await world.streak().currentStreak == 3)
            #expect(try await world.events(SoloStreakBroken.self).isEmpty)
        }
    }
}
