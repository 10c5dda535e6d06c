import AuthAPI
import Kernel
import SocialAPI
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksHabits
@testable import StreaksTyped

/// Deleted accounts that come back: streaks of one person go on, judged as if no user had touched the account (AU-7).
struct RestoredAccountTests {
    private func deleted(_ world: TypedWorld) async throws {
        try await world.consume(AccountDeleted(userID: world.ann, deletedAt: world.clock.now()))
    }

    private func restored(_ world: TypedWorld) async throws {
        try await world.consume(AccountRestored(userID: world.ann, restoredAt: world.clock.now()))
    }

    @Test func `restored the same day, a typed streak has lost nothing and grows on`() async throws {
        try await withTyped { world in
            try await world.recordDaily(5...8)
            let before = try await world.streak()
            try await deleted(world)
            let gone = try await world.streak()
            #expect(gone.id == nil && gone.currentStreak == 0)
            try await restored(world)
            #expect(try await world.streak() == before)
            try await world.recordDaily(9...11)
            let streak = try await world.streak()
            #expect(streak.id == before.id && streak.currentStreak == 7 && streak.longestStreak == 7)
            // Milestones of the run were rewarded once: 3 and 7.
            let coins = try await world.coins()
            #expect(coins.count == 9, "\(coins)")
            #expect(try await world.history().map(\.length) == [7])
        }
    }

    @Test func `what was missed meanwhile breaks it, and the longest stays`() async throws {
        try await withTyped { world in
            try await world.recordDaily(5...8)
            let before = try await world.streak()
            try await deleted(world)
            try await world.go(to: "2026-01-15T12:00:00Z")
            try await restored(world)
            let streak = try await world.streak()
            #expect(streak.id == before.id && streak.currentStreak == 0 && streak.longestStreak == 4)
            try await world.record()
            #expect(try await world.streak().currentStreak == 1)
        }
    }

    @Test func `an activity that is faster than the event finds the streak, and the event changes nothing`() async throws {
        try await withTyped { world in
            try await world.recordDaily(5...8)
            let before = try await world.streak()
            try await deleted(world)
            try await world.go(to: "2026-01-09T12:00:00Z")
            #expect(try await world.record().streak?.currentStreak == 5)
            for _ in 1...2 { try await restored(world) }
            let streak = try await world.streak()
            #expect(streak.id == before.id && streak.currentStreak == 5)
            let count = try await world.database.query("SELECT count(*) FROM streak").first?.decode(as: Int64.self)
            #expect(count == 1)
        }
    }

    @Test func `a freeze whose purchase was under way at the deletion goes to the streak that comes back`() async throws {
        try await withTyped { world in
            try await world.grant(["freeze": 1], operation: 1)
            try await deleted(world)
            try await world.grant(["freeze": 1], operation: 2)
            try await restored(world)
            let rows = try await world.database.query(
                "SELECT status, (SELECT sum(granted) FROM streak_freeze f WHERE f.streak_id = s.id) FROM streak s"
            )
            #expect(rows.count == 1)
            let (status, freezes) = try #require(rows.first).decode(as: (Int32.self, Int64.self))
            #expect(status == 1 && freezes == 3, "one of the sign-up, two bought")
        }
    }

    @Test(arguments: [AccountStatus.suspended, .banned])
    func `an account that an administrator shuts without a report loses its streaks, also the free date keeps none (SO-9)`(
        _ status: AccountStatus
    ) async throws {
        try await withTyped { world in
            try await world.recordDaily(5...8)
            for version in [2, 3] as [Int64] {
                let state = ProfileState(
                    userID: world.ann,
                    version: version,
                    username: "ann",
                    displayName: "Ann",
                    timeZone: "UTC",
                    status: status,
                    timeZoneSince: moment("2026-01-01T00:00:00Z")
                )
                try await world.consume(ProfileChanged(userID: world.ann, profile: state))
            }
            try await world.go(to: "2026-01-10T12:00:00Z")
            let streak = try await world.streak()
            #expect(streak.currentStreak == 0 && streak.longestStreak == 4, "\(streak)")
            let broken = try await world.events(SoloStreakBroken.self)
            #expect(broken.map(\.reason) == [.moderation] && broken.map(\.missedDate) == [day("2026-01-08")], "\(broken)")
        }
    }

    @Test func `a ban while the account was deleted ends them for good`() async throws {
        try await withTyped { world in
            try await world.recordDaily(5...8)
            try await deleted(world)
            try await world.consume(
                ModerationActionTaken(
                    actionID: ModerationActionID(high: 5, low: 1),
                    userID: world.ann,
                    action: .ban,
                    moderatorID: UserID(high: 1, low: 9),
                    reportID: ReportID(high: 6, low: 1)
                )
            )
            try await restored(world)
            #expect(try await world.streak().id == nil)
        }
    }

    @Test func `a habit takes completions again, keeps its streak, and is due today`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read").id
            try await world.complete(habit, on: "2026-01-04")
            try await world.complete(habit)
            let before = try await world.detail(habit).habit
            #expect(before?.currentStreak == 2)
            try await world.consume(AccountDeleted(userID: world.user, deletedAt: world.clock.now()))
            #expect(await world.reason { try await world.complete(habit) } == "STREAK_NOT_ACTIVE")
            try await world.consume(AccountRestored(userID: world.user, restoredAt: world.clock.now()))
            #expect(try await world.detail(habit).habit == before)
            world.clock.set(moment("2026-01-06T12:00:00Z"))
            #expect(try await world.today().progress?.total == 1)
            try await world.complete(habit)
            #expect(try await world.detail(habit).habit?.currentStreak == 3)
            world.clock.set(moment("2026-01-09T12:00:00Z"))
            try await world.settle()
            #expect(try await world.detail(habit).habit?.currentStreak == 0)
        }
    }
}
