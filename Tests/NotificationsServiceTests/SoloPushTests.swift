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

    private func teamBroken(_ number: UInt64, until: Instant) -> TeamStreakBroken {
        TeamStreakBroken(
            streakID: streak(number),
            circleID: CircleID(high: 9, low: number),
            circleName: "Runners",
            memberIDs: [ann],
            missedDate: date,
            count: 12,
            brokenAt: noon,
            repairableUntil: until
        )
    }

    @Test func `a push that waited for the end of quiet hours says what is left then, and offers nothing that is over`()
        async throws
    {
        // Midnight in UTC.
        let midnight = noon + .hours(12)
        try await withWorld(at: midnight) { world in
            try await world.person(1)
            try await world.device(ann, "phone")
            try await world.consume(broken(1, .checkIn, until: midnight + .hours(24)))
            // Over at six, before quiet hours are.
            try await world.consume(broken(2, .checkIn, count: 9, until: midnight + .hours(6)))
            try await world.consume(teamBroken(3, until: midnight + .hours(12)))
            try await world.consume(teamBroken(4, until: midnight + .hours(6)))
            world.clock.set(midnight + .hours(7))
            try await world.push()
            let bodies = try world.expo.pushes.map(\.body).sorted()
            #expect(
                bodies == [
                    "Repair it within 17 hours?",
                    "The team's 12-day streak ended. Check-ins made in time still save it for 5 hours.",
                    "The team's 12-day streak ended. Start a new one today!",
                ]
            )
        }
    }

    @Test func `an entry says what is left when it is read, in each language, and that it is over after it`() async throws {
        try await withWorld { world in
            let ben = try await world.person(2, name: "Ben")
            try await world.person(1)
            try await world.atRisk(ann, with: ben)
            try await world.consume(broken(1, .checkIn, until: noon + .hours(4)))
            func bodies(_ locale: String) async throws -> [String] {
                var request = ListRequest()
                request.locale = locale
                return try await world.list(ann, request).notifications.map(\.body).sorted()
            }
            world.clock.set(noon + .hours(2))
            #expect(try await bodies("en") == ["Repair it within 2 hours?", "Your 12-day streak with Ben expires in 1 hour!"])
            world.clock.set(noon + .hours(4))
            #expect(
                try await bodies("en") == [
                    "The offer to repair it has ended.", "Your 12-day streak with Ben needed a snap by the end of that day.",
                ]
            )
            #expect(
                try await bodies("de") == [
                    "Das Angebot, ihn zu reparieren, ist vorbei.",
                    "Dein Streak von 12 Tagen mit Ben brauchte bis zum Ende jenes Tages einen Snap.",
                ]
            )
        }
    }

    @Test func `a repair ends the offer of it, also while its push waits`() async throws {
        let midnight = noon + .hours(12)
        try await withWorld(at: midnight) { world in
            try await world.person(1)
            try await world.device(ann, "phone")
            try await world.consume(broken(1, .checkIn, until: midnight + .hours(24)))
            try await world.consume(
                SoloStreakRestored(
                    streakID: streak(1),
                    userID: ann,
                    kind: .checkIn,
                    count: 12,
                    missedDate: date,
                    reason: .repair,
                    at: midnight
                )
            )
            world.clock.set(midnight + .hours(7))
            try await world.push()
            #expect(try world.expo.pushes.map(\.data.type) == ["streak_recovered"])
            let offer = try await world.list(ann).notifications.first { $0.type == .repairOffer }
            #expect(offer?.body == "The offer to repair it has ended.")
        }
    }

    @Test func `a shield that is about to be spent is announced, in each language`() async throws {
        try await withWorld { world in
            try await world.person(1)
            for locale in ["en", "de"] { try await world.device(ann, locale, locale: locale) }
            try await world.consume(
                StreakReminderDue(
                    userID: ann,
                    streakID: streak(1),
                    date: date,
                    kind: .shieldAhead,
                    currentCount: 12,
                    usefulUntil: noon + .hours(3)
                )
            )
            try await world.push()
            let bodies = try world.expo.pushes.map(\.body).sorted()
            #expect(
                bodies == [
                    "Fehlst du heute, hält dein Schild deinen Streak von 12 Tagen und ist dann verbraucht.",
                    "Your shield will be used for your 12-day streak if you miss today.",
                ]
            )
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
