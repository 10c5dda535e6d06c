import AuthAPI
import CommonAPI
import Kernel
import NotificationsAPI
import NotificationsDomain
import StreaksAPI
import TestSupport
import Testing

@testable import NotificationsCore

/// What partners read of a deleted account, and its user when it is back (AU-7).
struct DeletedAccountTests {
    private func ended(_ ann: UserID, _ ben: UserID, count: Int32 = 12, deleted: UserID? = nil) -> StreakEnded {
        StreakEnded(streakID: World.streak, userAID: ann, userBID: ben, endedAt: noon, count: count, deletedUserID: deleted)
    }

    private func delete(_ number: UInt64, _ world: World) async throws {
        let user = try await world.person(number, name: "", status: .deleted, version: 2)
        try await world.consume(AccountDeleted(userID: user, deletedAt: noon, purgeAt: noon + .days(30)))
    }

    @Test(arguments: [true, false])
    func `the partner gets one push and one entry, whichever event comes first, and neither names the user`(deletionFirst: Bool)
        async throws
    {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1, name: "Ann"), try await world.person(2))
            for (user, name) in [(ann, "anns"), (ben, "bens")] { try await world.device(user, name) }
            if deletionFirst { try await delete(1, world) }
            try await world.consume(ended(ann, ben, deleted: ann))
            if !deletionFirst { try await delete(1, world) }
            try await world.push()
            let pushes = try world.expo.pushes
            #expect(pushes.map(\.to) == [World.token("bens")] && pushes.map(\.title) == ["🔥 Your 12-day streak has ended"])
            #expect(pushes.allSatisfy { !"\($0)".contains("Ann") })
            let log = try await world.list(ben).notifications
            #expect(log.map(\.type) == [.streakBroken] && log.map(\.streakID) == [World.streak])
            #expect(log.allSatisfy { $0.actor == nil && $0.actorID == nil && !$0.body.contains("Ann") })
            #expect(try await world.list(ann).notifications.isEmpty)
        }
    }

    @Test func `an end by unfriending, and one of a streak that was broken or counted nothing, make no entry`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.consume(ended(ann, ben))
            try await world.consume(ended(ann, ben, count: 0, deleted: ann))
            for user in [ann, ben] { #expect(try await world.list(user).notifications.isEmpty) }
        }
    }

    @Test func `the switch and the quiet hours of a broken streak hold for it`() async throws {
        // 23:00 in UTC.
        try await withWorld(at: noon + .hours(11)) { world in
            let (ann, ben, cem) = (try await world.person(1), try await world.person(2), try await world.person(3))
            for (user, name) in [(ben, "bens"), (cem, "cems")] { try await world.device(user, name) }
            try await world.update(cem, UpdatePreferencesRequest(streakBroken: false))
            for partner in [ben, cem] { try await world.consume(ended(ann, partner, deleted: ann)) }
            try await world.push()
            #expect(try world.expo.pushes.isEmpty)
            world.clock.set(noon + .hours(19))
            try await world.run("pushes")
            #expect(try world.expo.pushes.map(\.to) == [World.token("bens")])
            for user in [ben, cem] { #expect(try await world.list(user).notifications.count == 1) }
        }
    }

    @Test func `who is restored gets one entry, which says how much has not come back`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await delete(1, world)
            try await world.person(1, version: 3)
            let lost = EndedByDeletion(friendships: 3, circles: 1, mutualStreaks: 2)
            try await world.consume(AccountRestored(userID: ann, restoredAt: noon, ended: lost))
            let log = try await world.list(ann)
            #expect(log.unreadCount == 1 && log.notifications.map(\.type) == [.accountRestored])
            let body = "Your own streaks go on. Not restored: 3 friendships, 1 circle and 2 streaks with friends."
            #expect(log.notifications.map(\.body) == [body])
        }
    }

    @Test func `who is restored gets an entry also when it is not known what ended`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.consume(AccountRestored(userID: ann, restoredAt: noon))
            let body = "Your own streaks go on. Friendships, circles and streaks with friends ended with the deletion."
            #expect(try await world.list(ann).notifications.map(\.body) == [body])
        }
    }

    @Test func `the feature that writes it consumes the profile too: so the user is known to be back before`() async throws {
        try await withWorld { world in
            let consumed = world.parts.map { Set($0.consumers.map(\.subject)) }.filter { $0.contains(AccountRestored.subject) }
            #expect(consumed.count == 1)
            #expect(consumed.allSatisfy { $0.isSuperset(of: [ProfileChanged.subject, AccountDeleted.subject]) })
        }
    }
}
