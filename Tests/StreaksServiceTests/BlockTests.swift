import CommonAPI
import Kernel
import SocialAPI
import StreaksAPI
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// What streaks says of two of whom one blocks the other (SO-7): nothing, on any route.
struct BlockTests {
    private static func block(_ blocker: UserID, _ blocked: UserID, version: Int64 = 1) -> BlockState {
        BlockState(
            blockID: BlockID(high: blocker.low, low: blocked.low),
            version: version,
            blockerID: blocker,
            blockedID: blocked,
            active: version % 2 == 1
        )
    }

    /// What each RPC that a member may call answers: nil for NOT_FOUND, otherwise how many things.
    private func answers(_ world: World, _ user: UserID, _ friend: UserID, _ streak: StreakID) async throws -> [String: Int?] {
        let (service, context, id) = (world.service, World.by(user), streak)
        func found(_ body: () async throws -> Int) async throws -> Int? {
            do { return try await body() } catch let error as ServiceError {
                if error.code == .notFound { return nil }
                guard ["STREAK_NOT_BROKEN", "PREMIUM_REQUIRED"].contains(error.reason) else { throw error }
                return 1
            }
        }
        let prompts = SetStreakPromptsRequest(streakID: id, prompts: [CustomPrompt(text: "Shoes")])
        return [
            "list": try await service.listStreaks(ListStreaksRequest(), context: context).streaks.count,
            "open": try await service.listOpenDates(
                ListOpenDatesRequest(userID: user),
                context: context
            ).streaks.count,
            "summaries": try await service.getFriendSummaries(
                GetFriendSummariesRequest(userID: user, friendIDs: [friend]),
                context: context
            ).summaries.count,
            "detail": try await found {
                try await service.getStreak(GetStreakRequest(streakID: id), context: context).calendar.count
            },
            "calendar": try await found {
                try await service.getCalendar(GetCalendarRequest(streakID: id), context: context).days.count
            },
            "milestone": try await found {
                _ = try await service.getMilestoneData(GetMilestoneDataRequest(streakID: id), context: context)
                return 1
            },
            "prompts": try await found {
                _ = try await service.getStreakPrompts(GetStreakPromptsRequest(streakID: id), context: context)
                return 1
            },
            "prompt": try await found {
                _ = try await service.getTodaysPrompt(GetTodaysPromptRequest(streakID: id), context: context)
                return 1
            },
            "set": try await found {
                _ = try await service.setStreakPrompts(prompts, context: context)
                return 1
            },
            "clear": try await found {
                _ = try await service.clearStreakPrompts(ClearStreakPromptsRequest(streakID: id), context: context)
                return 1
            },
            "recover": try await found {
                _ = try await service.recover(RecoverRequest(streakID: id), context: context)
                return 1
            },
            "facts": try await service.getMilestoneFacts(
                GetMilestoneFactsRequest(userID: user, streakID: id),
                context: context
            ).isMember ? 1 : nil,
            "membership": try await service.getMembership(
                GetMembershipRequest(userID: user, streakID: id),
                context: context
            ).friendID.map { _ in 1 },
        ]
    }

    @Test(arguments: [true, false]) func `while either blocks the other their streak is not there, for both`(isFirst: Bool)
        async throws
    {
        try await withWorld(at: "2026-05-01T11:00:00Z") { world in
            let (ann, ben, cat) = (try await world.person(1), try await world.person(2), try await world.person(3))
            let streak = try await world.befriend(ann, ben)
            try await world.befriend(ann, cat)
            let (blocker, blocked) = isFirst ? (ann, ben) : (ben, ann)
            let before = try await answers(world, ann, ben, streak)
            #expect(before.values.allSatisfy { $0 ?? 0 > 0 }, "\(before)")
            try await world.consume(UserBlocked(blockID: BlockID(high: 0, low: 1), block: Self.block(blocker, blocked)))
            for (user, friend) in [(ann, ben), (ben, ann)] {
                let during = try await answers(world, user, friend, streak)
                let others = user == ann ? 1 : 0
                for (name, answer) in during {
                    switch name {
                    case "list", "open": #expect(answer == others, "\(name) of \(user)")
                    case "summaries": #expect(answer == 0)
                    // A member's own photos stay theirs; media leaves out the other's.
                    case "membership": #expect(answer == 1)
                    default: #expect(answer == nil, "\(name) of \(user)")
                    }
                }
            }
            try await world.consume(
                UserUnblocked(blockID: BlockID(high: 0, low: 1), block: Self.block(blocker, blocked, version: 2))
            )
            #expect(try await answers(world, ann, ben, streak) == before)
        }
    }
}
