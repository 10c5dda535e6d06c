import Kernel
import SocialDomain
import Testing

@Suite("Rules of social")
struct SocialRuleTests {
    private let now = Instant(seconds: 1_700_000_000)

    @Test func `A nudge needs friends, a running streak, a friend who has not posted, and four hours since the last`() throws {
        func reason(_ friends: Bool, _ streak: NudgeRule.Streak, _ last: Instant?) -> String? {
            do {
                #expect(try NudgeRule.check(areFriends: friends, streak: streak, last: last, now: now).nextAt == now + .hours(4))
                return nil
            } catch { return error.reason }
        }
        let open = NudgeRule.Streak.active(StreakID(high: 7, low: 7), friendPosted: false)
        #expect(reason(false, open, nil) == "NOT_FOUND")
        #expect(reason(true, .none, nil) == "STREAK_NOT_ACTIVE")
        #expect(reason(true, .active(StreakID(high: 7, low: 7), friendPosted: true), nil) == "FRIEND_ALREADY_POSTED")
        #expect(reason(true, open, now - .hours(4) + .seconds(1)) == "NUDGED_RECENTLY")
        #expect(reason(true, open, now - .hours(4)) == nil)
        #expect(reason(true, open, nil) == nil)
        let error = #expect(throws: ServiceError.self) {
            try NudgeRule.check(areFriends: true, streak: open, last: now - .hours(3), now: now)
        }
        #expect(error?.retryAfter == 3_601)
    }

    @Test(arguments: Moderation.Action.allCases) func `A report is acted on once, by another user than its owner`(
        action: Moderation.Action
    ) throws {
        let (owner, moderator) = (UserID(high: 0, low: 1), UserID(high: 0, low: 2))
        let decision = try Moderation.decide(action, on: .pending, of: owner, isPost: true, by: moderator, now: now)
        #expect(decision.status == (action == .dismiss ? .dismissed : .actioned))
        #expect(decision.until == (action == .suspend ? now + .days(7) : nil))
        for status in Moderation.Status.allCases where status != .pending {
            let error = #expect(throws: ServiceError.self) {
                try Moderation.decide(action, on: status, of: owner, isPost: true, by: moderator, now: now)
            }
            #expect(error?.reason == "ALREADY_ACTIONED")
        }
        let error = #expect(throws: ServiceError.self) {
            try Moderation.decide(action, on: .pending, of: owner, isPost: true, by: owner, now: now)
        }
        #expect(error?.reason == "CANNOT_MODERATE_SELF")
    }

    @Test func `What is searched is trimmed, without its leading @, and short texts find beginnings only`() throws {
        for (typed, text, inside) in [
            ("anna", "anna", true), ("  @Anna ", "Anna", true), ("a b", "a b", true), ("an", "an", false), ("日本", "日本", false),
            ("日本太", "日本太", true), ("@@x", "@x", false),
        ] {
            let search = try SearchText(typed)
            #expect(search.text == text && search.findsInside == inside, "\(typed)")
        }
        for blank in ["", " ", "@", " @ ", "\n\t"] {
            let error = #expect(throws: ServiceError.self) { try SearchText(blank) }
            #expect(error?.reason == "VALIDATION_ERROR")
        }
    }
}
