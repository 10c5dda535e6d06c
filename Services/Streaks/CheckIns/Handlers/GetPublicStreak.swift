internal import Bus
internal import StreaksAPI
internal import StreaksDomain

/// The counts of a user's check-in streak as others see them.
struct GetPublicStreak: QueryHandler {
    let streaks: CheckInStreaks

    func handle(_ request: GetPublicStreakRequest, _ context: CallContext) async throws -> PublicStreak {
        guard let streak = try await streaks.read(request.userID, context) else { return PublicStreak() }
        return PublicStreak(currentStreak: Int32(streak.state.count), longestStreak: Int32(streak.state.longest))
    }
}
