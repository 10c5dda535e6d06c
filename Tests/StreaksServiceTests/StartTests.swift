import Database
import Kernel
import Outbox
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCheckIns
@testable import StreaksCore
@testable import StreaksGoods
@testable import StreaksService

/// Two that begin the streak of one key at the same time: who comes second finds the streak of the first.
@Suite(.timeLimit(.minutes(5))) struct StartTests {
    private func isWaiting(_ database: Database) async throws -> Bool {
        let waiting: Query = """
            SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
            """
        return try await database.query(waiting).count == 1
    }

    /// Runs the second while the first has not committed.
    private func overlap<First: Sendable, Second: Sendable>(
        _ world: World,
        _ first: @escaping @Sendable (UnitOfWork) async throws -> First,
        _ second: @escaping @Sendable (UnitOfWork) async throws -> Second
    ) async throws -> (First, Second) {
        let (begun, waiting) = try await world.work.run(trace: "", requestID: "") { work in
            let begun = try await first(work)
            let waiting = Task { try await world.work.run(trace: "", requestID: "", second) }
            try await eventually("the second waits for the first") { try await isWaiting(world.database) }
            return (begun, waiting)
        }
        return (begun, try await waiting.value)
    }

    @Test(arguments: [true, false])
    func `a first check-in and a bought freeze at once begin one streak`(isFreezeFirst: Bool) async throws {
        try await withCheckIns { life in
            let (streaks, user) = (life.parts.streaks, life.ann)
            let freezes = BoughtFreezes(writer: streaks.writer)
            @Sendable func grant(_ work: UnitOfWork) async throws {
                #expect(try await freezes.grant(1, to: user, work.ids.make(), keepsCredit: true, work) == nil)
            }
            @Sendable func checkIn(_ work: UnitOfWork) async throws {
                let streak = try await streaks.lock(user, work)
                let command = StreakCommand.contribute(user, receivedAt: work.now, capturedAt: nil)
                _ = try await streaks.writer.apply(command, to: streak, work)
            }
            if isFreezeFirst {
                _ = try await overlap(life.world, grant, checkIn)
            } else {
                _ = try await overlap(life.world, checkIn, grant)
            }
            let status = try await life.status()
            #expect(status.currentStreak == 1 && status.freezesAvailable == 2)
            #expect(try await life.world.database.query("SELECT 1 FROM streak").count == 1)
        }
    }

    @Test(arguments: [true, false])
    func `a first check-in and a bought shield at once: the shield protects`(isShieldFirst: Bool) async throws {
        try await withCheckIns { life in
            let (streaks, user) = (life.parts.streaks, life.ann)
            let shields = BoughtShields(writer: streaks.writer)
            @Sendable func grant(_ work: UnitOfWork) async throws {
                try await shields.grant(1, to: user, obtainedAt: nil, work)
            }
            @Sendable func checkIn(_ work: UnitOfWork) async throws {
                let recorder = CheckInRecorder(streaks: streaks)
                let queued = try recorder.enqueue(user, receivedAt: work.now, work)
                let report = TrackingReport(mood: 8, energy: 7, kind: .dailyCheckIn)
                _ = try await recorder.record(report, of: user, receivedAt: work.now, by: queued, work)
            }
            if isShieldFirst {
                _ = try await overlap(life.world, grant, checkIn)
            } else {
                _ = try await overlap(life.world, checkIn, grant)
            }
            #expect(try await life.world.database.query("SELECT 1 FROM streak_protection").count == 1)
            #expect(try await GoodsStock.count(of: .shield, of: user, life.world.database) == 0)
        }
    }

    @Test func `what has looked in vain for a streak and finds its key taken runs again, and finds it`() async throws {
        try await withWorld(at: "2026-01-05T12:00:00Z") { world in
            let (writer, user) = (world.service.writer, try await world.person(1))
            @Sendable func begin(_ work: UnitOfWork) async throws -> StreakID {
                if let known = try await writer.store.streak(.dailySnap, key: "\(user)", work.sql) { return known }
                return try await writer.start(.init(.dailySnap, of: [user], key: "\(user)"), work)
            }
            let (first, second) = try await overlap(world, begin, begin)
            #expect(first == second)
            #expect(try await world.database.query("SELECT 1 FROM streak").count == 1)
        }
    }
}
