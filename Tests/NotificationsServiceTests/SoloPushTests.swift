import Kernel
import NotificationsAPI
import NotificationsDomain
import StreaksAPI
import TestSupport
import Testing

@testable import NotificationsCore

/// Pushes about streaks of one's own (CI-2 … CI-5, TS-3).
struct SoloPushTests {
    private let ann = UserID(high: 1, low: 1)
    private let date = Zone.utc.date(at: noon).advanced(by: -1)

    private func streak(_ number: UInt64) -> StreakID { StreakID(high: 5, low: number) }

    private func broken(_ number: UInt64, _ kind: SoloKind, count: Int32 = 12, until: Instant? = nil) -> SoloStreakBroken {
        SoloStreakBroken(
            streakID: streak(number),
            userID: ann,
            kind: kind,
            count: count,
            missedDate: date,
            brokenAt: noon,
            reason: .missed,
            repairableUntil: until
        )
    }

    @Test func `two breaks of one night do not replace each other, and each push has its streak and kind`() async throws {
        try await withWorld { world in
            try await world.person(1)
            try await world.device(ann, "phone")
            for (number, kind) in [(UInt64(1), SoloKind.recipeCreation), (2, .healthyEating)] {
                try await world.consume(broken(number, kind))
            }
            try await world.push()
            let pushes = try world.expo.pushes.sorted { $0.collapseId < $1.collapseId }
            let streaks = [streak(1), streak(2)]
            #expect(pushes.map(\.collapseId) == streaks.map { "streak_broken:\($0)" })
            #expect(pushes.map(\.tag) == pushes.map(\.collapseId))
            #expect(pushes.compactMap(\.data.streak_id) == streaks.map { "\($0)" })
            #expect(pushes.map(\.data.streakType) == ["recipe_creation", "healthy_eating"])
            #expect(pushes.allSatisfy { $0.data.deep_link == "streaksnap://home" })
        }
    }

    @Test func `each push says of which kind its streak is, and a milestone leads to its card`() async throws {
        try await withWorld { world in
            try await world.person(1)
            try await world.device(ann, "phone")
            try await world.consume(
                SoloMilestoneReached(
                    streakID: streak(3),
                    userID: ann,
                    kind: .checkIn,
                    date: date,
                    count: 30,
                    firstTime: true,
                    at: noon
                )
            )
            try await world.consume(
                TeamStreakBroken(
                    streakID: streak(4),
                    circleID: CircleID(high: 9, low: 1),
                    circleName: "Runners",
                    memberIDs: [ann],
                    missedDate: date,
                    count: 12,
                    brokenAt: noon
                )
            )
            try await world.consume(broken(5, .checkIn, until: noon + .hours(24)))
            try await world.push()
            let pushes = try world.expo.pushes.sorted { $0.data.type < $1.data.type }
            #expect(pushes.map(\.data.type) == ["milestone", "repair_offer", "team_broken"])
            #expect(pushes.map(\.data.streakType) == ["check_in", "check_in", "team"])
            #expect(
                pushes.map(\.data.deep_link) == [
                    "streaksnap://share-milestone/\(streak(3))", "streaksnap://home",
                    "streaksnap://circles/\(CircleID(high: 9, low: 1))",
                ]
            )
            #expect(pushes[1].collapseId == "repair_offer:\(streak(5))")
        }
    }

    @Test func `what is at risk with friends and of one's own are two pushes that do not replace each other`() async throws {
        try await withWorld { world in
            let ben = try await world.person(2)
            try await world.person(1)
            try await world.device(ann, "phone")
            let end = noon + .hours(3)
            let own = (UInt64(1)...2).map { SoloStreakAtRisk(streakID: streak($0), kind: "check_in", currentCount: 9) }
            let shared = (UInt64(3)...4).map {
                StreakAtRisk(streakID: streak($0), friendID: ben, currentCount: 9, deadlineAt: end)
            }
            let today = Zone.utc.date(at: noon)
            try await world.consume(SoloStreaksAtRisk(userID: ann, date: today, dayEndsAt: end, streaks: own))
            try await world.consume(StreaksAtRisk(userID: ann, date: today, dayEndsAt: end, streaks: shared))
            try await world.push()
            let pushes = try world.expo.pushes
            #expect(pushes.map(\.data.type) == ["streak_at_risk", "streak_at_risk"])
            #expect(Set(pushes.map(\.collapseId)).count == 2)
        }
    }
}
