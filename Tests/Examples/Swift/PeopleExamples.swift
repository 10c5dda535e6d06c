import StreakSnapClient
import StreakSnapTesting
import Testing

/// Friends, and what reaches them by push.
@Suite(.world(clock: "2030-03-04T08:00:00Z")) struct PeopleExamples {
    @Test func `a friend request arrives as a push, and a streak begins when it is accepted`() async throws {
        let world = try TestWorld.current
        let ada = try await world.person()
        let ben = try await world.person(push: true)
        let asked = try await ada.client.friends.sendFriendRequest(username: ben.username)
        let push = try await world.push(.friendRequest, to: ben)
        #expect(push.body.contains(ada.name))
        let friendship = asked.friendshipID
        let accepted = try await ben.client.friends.respondToFriendRequest(friendshipID: friendship, action: .accept)
        #expect(accepted.status == .accepted && accepted.streak?.currentCount == 0)
    }

    @Test func `a photo is pushed to the friend, and to no other`() async throws {
        let world = try TestWorld.current
        let (ada, ben) = try await world.friends(push: true)
        #expect(try await world.pushes().isEmpty, "that they are friends was pushed before they had phones")
        try await ada.snap()
        // `snap` returns when nothing is under way: what is not there by now was not sent.
        #expect(try await world.pushes(to: ben).map(\.kind) == [.friendPosted])
        #expect(try await world.pushes(to: ada).isEmpty)
    }

    @Test func `a reminder is pushed three hours before the day ends`() async throws {
        let world = try TestWorld.current
        try await world.clock.advance(to: "12:00")
        let (ada, ben) = try await world.friends(push: true)
        try await ada.snap()
        try await ben.snap()
        try await world.clock.advance(days: 1)
        try await ben.snap()
        try await world.clock.advance(to: "21:00")
        let push = try await world.push(.streakAtRisk, to: ada)
        #expect(push.body.contains(ben.name) && push.body.contains("3 hours"))
        let toBen = try await world.pushes(to: ben)
        #expect(!toBen.contains { $0.kind == .streakAtRisk }, "he has posted")
    }

    @Test func `a blocked person cannot ask to be friends again`() async throws {
        let world = try TestWorld.current
        let (ada, ben) = try await world.friends()
        try await ada.client.safety.blockUser(userID: ben.id)
        #expect(try await ada.client.friends.listFriends().friends.isEmpty)
        let refused = await #expect(throws: StreakSnapError.self) {
            try await ben.client.friends.sendFriendRequest(userID: ada.id)
        }
        #expect(refused?.code == .notFound, "as if there were no such person")
    }
}
