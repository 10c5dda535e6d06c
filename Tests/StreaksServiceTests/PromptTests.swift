import Kernel
import StreaksAPI
import StreaksDomain
import Testing

@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// A streak's own prompts (PW-1), and late snaps where the window is enforced (PW-3).
@Suite(.timeLimit(.minutes(10))) struct PromptTests {
    private func reason(_ body: () async throws -> Void) async throws -> String? {
        do {
            try await body()
            return nil
        } catch let error as ServiceError { return error.reason }
    }

    private func set(_ world: World, _ streak: StreakID, _ user: UserID, _ texts: [String]) async throws -> StreakPrompts {
        try await world.service.setStreakPrompts(
            SetStreakPromptsRequest(streakID: streak, prompts: texts.map { CustomPrompt(text: $0) }),
            context: World.by(user)
        )
    }

    private func today(_ world: World, _ streak: StreakID?, _ user: UserID) async throws -> TodaysPrompt {
        try await world.service.getTodaysPrompt(
            GetTodaysPromptRequest(streakID: streak),
            context: World.by(user)
        )
    }

    @Test func `a premium member's prompts show to both, one a date, until the plan ends, and again when it is back`()
        async throws
    {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben, eve) = (try await world.person(1), try await world.person(2), try await world.person(3))
            let streak = try await world.befriend(ann, ben)
            #expect(try await reason { _ = try await set(world, streak, ann, ["Our dog"]) } == "PREMIUM_REQUIRED")
            #expect(try await today(world, streak, ann).category != .custom)
            try await world.premium(ann)
            let stored = try await set(world, streak, ann, ["Our dog", "Our cat", "Us"])
            #expect(stored.active && stored.setByUserID == ann && stored.prompts.count == 3)
            var shown: [String] = []
            for _ in 0..<4 {
                let (one, two) = (try await today(world, streak, ann), try await today(world, streak, ben))
                #expect(one.text == two.text && one.category == .custom && one.emoji == "📸" && one.id.hasPrefix("custom-"))
                shown.append(one.text)
                world.clock.advance(by: .days(1))
            }
            #expect(Set(shown) == ["Our dog", "Our cat", "Us"] && shown[0] == shown[3])
            #expect(try await today(world, nil, ann).category != .custom, "without a streak the built-in one")

            try await world.premium(ann, false, version: 2)
            let builtIn = DailyPrompt.of(Zone.utc.date(at: world.clock.now()))
            #expect(try await today(world, streak, ben).text == builtIn.text)
            let request = GetStreakPromptsRequest(streakID: streak)
            let kept = try await world.service.getStreakPrompts(request, context: World.by(ben))
            #expect(!kept.active && kept.prompts.map(\.text) == ["Our dog", "Our cat", "Us"])
            try await world.premium(ann, true, version: 3)
            #expect(try await today(world, streak, ben).category == .custom)

            // For others there is no such streak.
            #expect(try await reason { _ = try await today(world, streak, eve) } == "NOT_FOUND")
            #expect(try await reason { _ = try await set(world, streak, eve, ["x"]) } == "NOT_FOUND")
            try await world.premium(eve)
            #expect(try await reason { _ = try await set(world, streak, eve, ["x"]) } == "NOT_FOUND")
        }
    }

    @Test func `who set them may remove them on any plan, another member on a premium one`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            try await world.premium(ann)
            _ = try await set(world, streak, ann, ["Our dog"])
            func clear(_ user: UserID) async throws -> String? {
                try await reason {
                    let reply = try await world.service.clearStreakPrompts(
                        ClearStreakPromptsRequest(streakID: streak),
                        context: World.by(user)
                    )
                    #expect(reply.prompts.isEmpty && !reply.active && reply.setByUserID == nil)
                }
            }
            #expect(try await clear(ben) == "PREMIUM_REQUIRED")
            #expect(try await today(world, streak, ben).category == .custom)
            try await world.premium(ben)
            #expect(try await set(world, streak, ben, ["Our sofa"]).setByUserID == ben, "the later list counts")
            try await world.premium(ann, false, version: 2)
            #expect(try await today(world, streak, ann).text == "Our sofa")
            try await world.premium(ben, false, version: 2)
            #expect(try await clear(ben) == nil)
            #expect(try await clear(ann) == nil, "without any it changes nothing")
            #expect(try await today(world, streak, ben).category != .custom)
        }
    }

    @Test func `a snap names a prompt that there is, or none`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            _ = try await world.befriend(ann, ben)
            func refusal(_ prompt: String?) async -> ServiceError? {
                do {
                    let request = PlanContributionRequest(userID: ann, receivedAt: world.clock.now(), promptID: prompt)
                    _ = try await world.service.planContribution(request, context: World.by(ann))
                } catch { return error as? ServiceError }
                return nil
            }
            for known in [nil, "food-01", "activity-21", "custom-1", "custom-30"] { #expect(await refusal(known) == nil) }
            for unknown in ["food-1", "food-99", "drink-01", "custom-0", "custom-31", "custom-01", "' OR 1=1"] {
                let error = await refusal(unknown)
                #expect(error?.reason == "VALIDATION_ERROR" && error?.details.first?.field == "prompt_id", "\(unknown)")
            }
        }
    }

    @Test func `where the window is enforced a late snap is refused, and nothing is stored`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2, hour: 13))
            let streak = try await world.befriend(ann, ben)
            let strict = world.service(.enforce)
            func plan(_ user: UserID) async throws -> String? {
                try await strict.planContribution(
                    PlanContributionRequest(userID: user, receivedAt: world.clock.now()),
                    context: World.by(user)
                ).outcomes.first?.refused
            }
            world.clock.set(moment("2026-05-01T12:31:00Z"))
            #expect(try await plan(ann) == "OUTSIDE_SNAP_WINDOW")
            let refused = try await world.post(ann, to: [streak], strict)
            #expect(refused.outcomes.map(\.refused) == ["OUTSIDE_SNAP_WINDOW"] && !refused.onTime)
            #expect(try await world.database.query("SELECT 1 FROM contribution").isEmpty)
            #expect(try await world.events(SnapCounted.self).isEmpty)
            // By Ben's hour it is time; by Ann's it was a minute ago.
            #expect(try await plan(ben) == nil)
            #expect(try await world.post(ben, to: [streak], strict).onTime)
            #expect(try await !world.post(ann, to: [streak]).onTime, "labelled, it counts")
            #expect(try await world.events(SnapCounted.self).count == 2)
            #expect(try await plan(ann) == "ALREADY_POSTED", "what else is wrong is said first")
        }
    }
}
