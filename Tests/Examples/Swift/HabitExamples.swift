import StreakSnapClient
import StreakSnapTesting
import Testing

/// Check-ins and habits of one person.
@Suite(.world(clock: "2030-03-04T08:00:00Z")) struct HabitExamples {
    @Test func `a check-in counts once a day`() async throws {
        let ada = try await TestWorld.current.person()
        let first = try await ada.checkIn().data?.streak
        #expect(first?.currentStreak == 1 && first?.isFirstCheckInToday == true)
        let second = try await ada.checkIn(mood: 5).data?.streak
        #expect(second?.currentStreak == 1 && second?.isFirstCheckInToday == false)
    }

    @Test func `a freeze keeps the streak through a missed day`() async throws {
        let world = try TestWorld.current
        let ada = try await world.person()
        try await ada.checkIn()
        #expect(try await ada.client.checkIns.getCheckInStatus().data?.freezesAvailable == 1)
        try await world.clock.advance(days: 2)
        let status = try await ada.client.checkIns.getCheckInStatus().data
        #expect(status?.currentStreak == 2 && status?.freezesAvailable == 0)
    }

    @Test func `a habit's streak ends when a day is missed`() async throws {
        let world = try TestWorld.current
        let ada = try await world.person()
        let habit = try await ada.client.habits.createHabit(name: "Read").id
        #expect(try await ada.client.habits.completeHabit(habitID: habit).currentStreak == 1)
        try await world.clock.advance(days: 1)
        #expect(try await ada.client.habits.completeHabit(habitID: habit).currentStreak == 2)
        try await world.clock.advance(days: 2)
        #expect(try await ada.client.habits.getHabit(habitID: habit).habit.currentStreak == 0)
    }

    @Test func `a habit with a target is done once the target is reached`() async throws {
        let ada = try await TestWorld.current.person()
        let habit = try await ada.client.habits.createHabit(name: "Read", targetValue: 20, unit: "pages").id
        let half = try await ada.client.habits.completeHabit(habitID: habit, value: 12)
        #expect(half.status == .partial && half.currentStreak == 0)
        let whole = try await ada.client.habits.completeHabit(habitID: habit, increment: 8)
        #expect(whole.status == .done && whole.currentStreak == 1)
    }
}
