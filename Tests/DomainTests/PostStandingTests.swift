import Kernel
import SocialDomain
import TestSupport
import Testing

/// Whether a post is shown, by its reports and what moderators decided (SO-8, SO-9).
struct PostStandingTests {
    private let now = Instant(seconds: 1_700_000_000)

    @Test func `the third reporter hides a post, not the second`() {
        var standing = PostStanding()
        for reporters in Int32(1)...2 { standing.reported(reporters: reporters, weight: reporters, now: now) }
        #expect(standing == PostStanding())
        standing.reported(reporters: 3, weight: 3, now: now)
        #expect(standing.visibility == .hidden && standing.version == 1 && standing.hiddenAt == now)
        standing.reported(reporters: 4, weight: 4, now: now + .seconds(5))
        #expect(standing.version == 1 && standing.hiddenAt == now, "it is hidden once")
    }

    @Test func `accounts that are young and unverified hide nothing, however many; two that are neither still need a third`() {
        let (young, old) = (UserID(high: UInt64(now.milliseconds) << 16, low: 1), UserID(high: 0, low: 1))
        func weight(_ user: UserID, _ isVerified: Bool, _ at: Instant) -> Int32 {
            ReportWeight.of(user, isVerified: isVerified, now: at)
        }
        #expect(weight(young, false, now + .seconds(30)) == 0 && weight(young, true, now) == 1)
        #expect(weight(old, false, now) == 1 && weight(old, true, now) == 2)
        #expect(weight(young, false, now + .days(1) - .seconds(1)) == 0 && weight(young, true, now + .days(1)) == 2)
        var standing = PostStanding()
        standing.reported(reporters: 1_000, weight: 0, now: now)
        standing.reported(reporters: 2, weight: 4, now: now)
        #expect(standing == PostStanding())
        standing.reported(reporters: 3, weight: 4, now: now)
        #expect(standing.visibility == .hidden)
    }

    @Test func `a dismissal shows it again, and three more hide it again`() {
        var standing = PostStanding(visibility: .hidden, version: 1, hiddenAt: now)
        standing.decided(.dismiss, now: now)
        #expect(standing == PostStanding(visibility: .shown, version: 2))
        standing.reported(reporters: 3, weight: 3, now: now)
        #expect(standing.visibility == .hidden && standing.version == 3)
    }

    @Test(arguments: [Moderation.Action.warn, .suspend, .ban]) func `what is done to its author hides it`(
        action: Moderation.Action
    ) {
        var standing = PostStanding()
        standing.decided(action, now: now)
        #expect(standing.visibility == .hidden && standing.version == 1 && standing.hiddenAt == now)
        standing.decided(action, now: now + .seconds(1))
        #expect(standing.version == 1)
    }

    @Test func `a dismissal of a post that is shown changes nothing`() {
        var standing = PostStanding()
        standing.decided(.dismiss, now: now)
        #expect(standing == PostStanding())
    }

    @Test(arguments: TestDepth.seeds(quick: 20, full: 400)) func `a removed post stays removed; versions only grow`(seed: UInt64)
    {
        var (random, standing, wasRemoved) = (Seeded(seed), PostStanding(), false)
        for step in 0..<40 {
            let (before, at) = (standing, now + .seconds(Int64(step)))
            if Bool.random(using: &random) {
                standing.reported(
                    reporters: Int32.random(in: 1...5, using: &random),
                    weight: Int32.random(in: 0...6, using: &random),
                    now: at
                )
            } else if let action = Moderation.Action.allCases.randomElement(using: &random) {
                standing.decided(action, now: at)
            }
            #expect((standing.version > before.version) == (standing != before))
            #expect((standing.hiddenAt == nil) == (standing.visibility == .shown))
            if wasRemoved { #expect(standing == before) }
            wasRemoved = standing.visibility == .removed
        }
    }

    @Test(arguments: Moderation.Action.allCases) func `only posts are removed`(action: Moderation.Action) throws {
        let (owner, moderator) = (UserID(high: 0, low: 1), UserID(high: 0, low: 2))
        guard action == .remove else {
            #expect(try Moderation.decide(action, on: .pending, of: owner, by: moderator, now: now).status != .pending)
            return
        }
        let error = #expect(throws: ServiceError.self) {
            try Moderation.decide(action, on: .pending, of: owner, by: moderator, now: now)
        }
        #expect(error?.reason == "VALIDATION_ERROR" && error?.details.map(\.field) == ["action"])
    }
}
