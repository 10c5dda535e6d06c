import Kernel
import NotificationsAPI
import NotificationsDomain
import StreaksAPI
import TestSupport
import Testing

@testable import NotificationsCore

/// What was earned is announced, once a cause (NO-5, MS-7, RC-1, CI-5).
struct RewardNotificationTests {
    private let date = Zone.utc.date(at: noon)

    private func snap(of author: UserID, for reader: UserID, count: Int32, celebrated: Bool) -> SnapCounted {
        SnapCounted(
            streakID: World.streak,
            userID: author,
            friendID: reader,
            date: date,
            dateCompleted: true,
            currentCount: count,
            countedAt: noon,
            celebrated: celebrated
        )
    }

    @Test func `day 30 with a friend is one push for each: milestone, token, achievement and snap have one cause`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2, name: "Ben"))
            for (user, name) in [(ann, "ann"), (ben, "ben")] { try await world.device(user, name) }
            try await world.consume(
                MilestoneReached(
                    streakID: World.streak,
                    userAID: ann,
                    userBID: ben,
                    count: 30,
                    date: date,
                    earnsToken: true
                )
            )
            try await world.consume(
                RecoveryTokenEarned(streakID: World.streak, userAID: ann, userBID: ben, count: 30, runStart: date, date: date)
            )
            try await world.consume(snap(of: ben, for: ann, count: 30, celebrated: true))
            for user in [ann, ben] {
                try await world.consume(AchievementEarned(userID: user, achievement: "30_day_legend", earnedAt: noon))
            }
            try await world.push()
            let pushes = try world.expo.pushes.map { "\($0.to) \($0.data.type)" }.sorted()
            #expect(pushes == ["\(World.token("ann")) milestone", "\(World.token("ben")) milestone"])
            let bodies = Set(try await world.list(ann).notifications.map(\.body))
            #expect(
                bodies == [
                    "You and Ben hit 30 days! You earned a recovery token.", "Ben sent a snap: today counts for both of you.",
                    "You earned 30 Day Legend.",
                ]
            )
        }
    }

    @Test func `who wants no push of milestones gets that of the friend's snap`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            try await world.update(ann, UpdatePreferencesRequest(milestone: false))
            try await world.consume(snap(of: ben, for: ann, count: 7, celebrated: true))
            try await world.push()
            #expect(try world.expo.pushes.map(\.data.type) == ["friend_posted"])
        }
    }

    @Test func `tokens of counts that are not celebrated are announced, in each language`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1, name: "Ann"), try await world.person(2, name: "Ben"))
            try await world.device(ann, "phone")
            try await world.device(ben, "tablet", locale: "de")
            try await world.consume(
                RecoveryTokenEarned(
                    streakID: World.streak,
                    userAID: ann,
                    userBID: ben,
                    count: 60,
                    runStart: date,
                    date: date,
                    unannounced: true
                )
            )
            try await world.push()
            let pushes = try world.expo.pushes
            #expect(
                pushes.map(\.body).sorted() == [
                    "Du und Ann habt mit 60 Tagen je ein Rettungs-Token verdient.",
                    "You and Ben each earned a recovery token with 60 days.",
                ]
            )
            // There is no card of it.
            #expect(pushes.allSatisfy { $0.data.deep_link == "streaksnap://streak/\(World.streak)" })
        }
    }

    @Test func `a badge of no milestone is pushed, those of one and what it unlocks are in the log only`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            func badge(_ id: String, _ title: String, isMilestone: Bool) -> BadgeEarned {
                BadgeEarned(userID: ann, badge: id, earnedAt: noon, title: title, icon: "🧊", isMilestone: isMilestone)
            }
            try await world.consume(badge("ice_warrior", "Ice Warrior", isMilestone: false))
            try await world.consume(badge("investor", "Investor", isMilestone: false))
            try await world.consume(badge("monthly_master", "Monthly Master", isMilestone: true))
            try await world.consume(UnlockEarned(userID: ann, unlock: "avatar_frame_gold", earnedAt: noon, title: "Gold Frame"))
            // Of a release that did not name it.
            try await world.consume(BadgeEarned(userID: ann, badge: "centurion", earnedAt: noon))
            try await world.push()
            let pushes = try world.expo.pushes
            #expect(pushes.map(\.title) == ["🧊 New badge!", "🧊 New badge!"])
            #expect(Set(pushes.map(\.body)) == ["You earned Ice Warrior.", "You earned Investor."])
            #expect(Set(pushes.map(\.collapseId)).count == 2, "one does not replace the other")
            #expect(pushes.allSatisfy { $0.data.deep_link == "streaksnap://home" && $0.data.milestone == nil })
            #expect(pushes.allSatisfy { $0.data.streakType == nil && $0.data.streak_id == nil })
            let bodies = Set(try await world.list(ann).notifications.map(\.body))
            #expect(bodies.count == 4 && bodies.contains("Gold Frame is yours now."))
        }
    }

    @Test func `milestones and breaks of sharing are pushed, those of daily snaps where streaks with friends do not say it`()
        async throws
    {
        try await withWorld { world in
            let (ann, ben, cat) = (try await world.person(1), try await world.person(2), try await world.person(3))
            for (user, name) in [(ann, "ann"), (ben, "ben")] { try await world.device(user, name) }
            // Both keep a streak with Cat; that of Ben has the same days.
            for user in [ann, ben] { try await world.posted(cat, for: user) }
            try await world.consume(
                MilestoneReached(streakID: World.streak, userAID: ben, userBID: cat, count: 7, date: date, earnsToken: false)
            )
            try await world.consume(
                StreakBroken(
                    streakID: World.streak,
                    userAID: ben,
                    userBID: cat,
                    count: 7,
                    missedDate: date
                )
            )
            for (user, number) in [(ann, UInt64(1)), (ben, 2)] {
                for (kind, part) in [(SoloKind.dailySnap, UInt64(10)), (.socialShare, 20)] {
                    let streak = StreakID(high: 5, low: part + number)
                    try await world.consume(
                        SoloMilestoneReached(
                            streakID: streak,
                            userID: user,
                            kind: kind,
                            date: date,
                            count: 7,
                            firstTime: true,
                            at: noon
                        )
                    )
                    try await world.consume(
                        SoloStreakBroken(
                            streakID: streak,
                            userID: user,
                            kind: kind,
                            count: 7,
                            missedDate: date,
                            brokenAt: noon,
                            reason: .missed
                        )
                    )
                }
            }
            try await world.push()
            let pushes = try world.expo.pushes.map { "\($0.to) \($0.data.type) \($0.data.streakType ?? "")" }.sorted()
            let (own, other) = (World.token("ann"), World.token("ben"))
            #expect(
                pushes == [
                    "\(own) friend_posted ", "\(own) milestone social_share",
                    "\(own) streak_broken daily_snap", "\(own) streak_broken social_share", "\(other) friend_posted ",
                    "\(other) milestone mutual", "\(other) milestone social_share", "\(other) streak_broken mutual",
                    "\(other) streak_broken social_share",
                ]
            )
            #expect(try await world.reasons() == ["said", "said", "said"])
        }
    }
}
