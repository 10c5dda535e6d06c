import StreakSnapClient
import StreakSnapTesting
import Testing

/// What the app does when the server is in trouble.
@Suite(.world(clock: "2030-03-04T08:00:00Z")) struct FaultExamples {
    @Test func `a photo that is refused while media is away counts when it is sent again`() async throws {
        let world = try TestWorld.current
        let (ada, ben) = try await world.friends()
        try await ben.snap()
        try await world.stop(.media)
        let away = await #expect(throws: StreakSnapError.self) { try await ada.snap() }
        #expect(away?.isTransient == true, "the app may send it again")
        try await world.start(.media)
        try await ada.snap()
        #expect(try await ada.streak(with: ben).currentCount == 1)
    }

    @Test func `a slow database makes the app wait, and nothing is lost`() async throws {
        let world = try TestWorld.current
        let ada = try await world.person()
        try await world.slowDatabase(by: .milliseconds(100))
        let start = ContinuousClock.now
        try await ada.client.profiles.updateMe(displayName: "Ada")
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        try await world.slowDatabase(by: .zero)
        #expect(try await ada.client.profiles.getMe().displayName == "Ada")
    }
}
