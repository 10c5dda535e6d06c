import StreakSnapClient
import StreakSnapTesting
import Testing

/// Streaks of friends. Every test has a world of its own, where it is eight o'clock on a Monday morning.
@Suite(.world(clock: "2030-03-04T08:00:00Z")) struct StreakExamples {
    @Test func `two friends who both post have a streak of one`() async throws {
        let world = try TestWorld.current
        let (ada, ben) = try await world.friends()
        try await ada.snap()
        #expect(try await ada.streak(with: ben).statusPill == .waitingOnFriend)
        try await ben.snap()
        #expect(try await ada.streak(with: ben).currentCount == 1)
        #expect(try await ada.streak(with: ben).statusPill == .bothPosted)
    }

    @Test func `a snap each day makes the streak longer`() async throws {
        let world = try TestWorld.current
        let (ada, ben) = try await world.friends()
        for day in 1...3 {
            try await ada.snap()
            try await ben.snap()
            #expect(try await ada.streak(with: ben).currentCount == day)
            try await world.clock.advance(days: 1)
        }
    }

    @Test func `a friend's photo is locked until you have posted`() async throws {
        let world = try TestWorld.current
        let (ada, ben) = try await world.friends()
        try await ada.snap(caption: "Good morning")
        let locked = try #require(try await ben.client.snaps.getFeed().items.first)
        #expect(locked.locked && locked.yourTurn && locked.friendSnap == nil)
        try await ben.snap()
        let shown = try #require(try await ben.client.snaps.getFeed().items.first)
        #expect(!shown.locked && shown.friendSnap?.caption == "Good morning")
    }

    @Test func `a streak breaks at midnight, and says who missed the day`() async throws {
        let world = try TestWorld.current
        let (ada, ben) = try await world.friends()
        let streak = try await ada.streak(with: ben).id
        try await ada.snap()
        try await ben.snap()
        try await world.clock.advance(days: 1)
        try await ada.snap()
        try await world.clock.set("2030-03-05T23:59:00Z")
        #expect(try await ada.streak(streak).status == .active)
        try await world.clock.set("2030-03-06T00:00:01Z")
        let broken = try await ada.streak(streak)
        #expect(broken.status == .broken && broken.brokenByUserID == ben.id)
    }

    @Test func `a recovery token brings a broken streak back`() async throws {
        let world = try TestWorld.current
        let (ada, ben) = try await world.friends()
        let streak = try await ada.streak(with: ben).id
        try await ada.snap()
        try await ben.snap()
        try await world.clock.advance(days: 2)
        try await world.buy("recovery_token_pack_3", for: ada)
        try await eventually("the tokens are there") { try await ada.client.billing.getRecoveryBalance().balance == 3 }
        let saved = try await ada.client.mutual.recover(streakID: streak)
        #expect(saved.streak.status == .active && saved.streak.currentCount == 1 && saved.balance == 2)
    }

    @Test func `a recovery comes too late a day after the break`() async throws {
        let world = try TestWorld.current
        let (ada, ben) = try await world.friends()
        let streak = try await ada.streak(with: ben).id
        try await ada.snap()
        try await ben.snap()
        try await world.clock.advance(days: 3)
        let late = await #expect(throws: StreakSnapError.self) { try await ada.client.mutual.recover(streakID: streak) }
        #expect(late?.code == .recoveryWindowExpired)
    }

    @Test func `friends on two sides of the world have until both their days are over`() async throws {
        let world = try TestWorld.current
        let ada = try await world.person(timeZone: "Asia/Tokyo")
        let ben = try await world.person(timeZone: "America/Los_Angeles")
        let streak = try await ada.befriend(ben)
        try await ada.snap()
        try await ben.snap()
        try await world.clock.advance(days: 1)
        try await ada.snap()
        // For Ada it is Wednesday, for Ben still Tuesday morning.
        try await world.clock.set("2030-03-05T16:00:00Z")
        #expect(try await ada.streak(streak).status == .active)
        try await ben.snap()
        #expect(try await ada.streak(streak).currentCount == 2)
    }
}
