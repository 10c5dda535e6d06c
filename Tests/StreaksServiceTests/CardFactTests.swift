import Bus
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksProgress

/// What cards say of streaks of one person (MC-1).
@Suite(.timeLimit(.minutes(10))) struct CardFactTests {
    private func live(_ days: Int, _ kind: StreakKind, _ user: UserID, _ world: World) async throws -> StreakID {
        let writer = world.service.writer
        let id = try await world.work.run(trace: "", requestID: "") { work in
            try await writer.start(.init(kind, of: [user], key: user.description), work)
        }
        for _ in 0..<days {
            try await world.work.run(trace: "", requestID: "") { work in
                let stored = try #require(try await writer.store.lock([id], work.sql).first)
                _ = try await writer.apply(.contribute(user, receivedAt: work.now, capturedAt: nil), to: stored, work)
            }
            world.clock.advance(by: .days(1))
        }
        return id
    }

    @Test(arguments: [
        (StreakKind.checkIn, "🔥", "Daily Check-In", "Week Warrior", "orange"),
        (.recipeCreation, "👨‍🍳", "Recipe Creator", "Week Warrior", "orange"),
        (.socialShare, "📱", "Social Chef", "Week Warrior", "purple"),
        (.healthyEating, "🥗", "Healthy Habits", "Week Warrior", "green"),
    ])
    func `a milestone of one's own streak is a card with the words of its kind`(
        kind: StreakKind,
        emoji: String,
        subject: String,
        title: String,
        style: String
    ) async throws {
        try await withWorld(at: "2026-05-01T09:00:00Z") { world in
            let (ann, eve) = (try await world.person(1), try await world.person(2))
            let streak = try await live(8, kind, ann, world)
            func facts(_ user: UserID, _ milestone: Int32) async throws -> GetMilestoneFactsReply {
                try await world.service.getMilestoneFacts(
                    GetMilestoneFactsRequest(userID: user, streakID: streak, milestone: milestone),
                    context: World.by(user)
                )
            }
            let week = try await facts(ann, 0)
            #expect(week.isMember && week.isReached && week.milestone == 7 && week.currentCount == 8 && week.friendID == nil)
            #expect(week.fromDate == day("2026-05-01") && week.toDate == day("2026-05-07") && week.circleID == nil)
            #expect(week.emoji == emoji && week.subject == subject && week.title == title && week.style == style)
            #expect(try await facts(ann, 3).isReached)
            #expect(try await !facts(ann, 14).isReached)
            #expect(try await facts(eve, 7) == GetMilestoneFactsReply(), "another's")

            let data = try await world.service.getMilestoneData(
                GetMilestoneDataRequest(streakID: streak),
                context: World.by(ann)
            )
            #expect(data.type == kind.typeName && data.friend == nil && data.you?.userID == ann)
            #expect(data.milestone == 7 && data.nextMilestone == 14 && data.daysToNextMilestone == 6)
            #expect(data.reached.map(\.count) == [3, 7] && data.reached.last?.date == day("2026-05-07"))
            #expect(data.text?.subject == subject && data.text?.milestoneTitle == title && data.text?.names == "@person1")
            #expect(data.text?.share == "\(emoji) 8-day \(subject) streak on StreakSnap!")
            #expect(data.styles.count == 4 && data.styles.first?.name == style)
            let error = await #expect(throws: ServiceError.self) {
                try await world.service.getMilestoneData(
                    GetMilestoneDataRequest(streakID: streak),
                    context: World.by(eve)
                )
            }
            #expect(error?.code == .notFound)

            // Broken by now: what was reached stays reached.
            world.clock.advance(by: .days(20))
            let later = try await facts(ann, 7)
            #expect(later.isReached && later.currentCount == 0 && later.toDate == day("2026-05-07"))
        }
    }
}
