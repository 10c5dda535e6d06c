import CommonAPI
import Kernel
import StreaksAPI
import TestSupport
import Testing

// What the tests of the client do beside it. The client has types of the same names as Kernel, so this is a file of its own.
extension Installation {
    /// Two users earn a token, as for a long streak.
    func earnToken(streak: String, users: [String]) async throws {
        try await emit(
            RecoveryTokenEarned(
                streakID: try #require(StreakID(streak)),
                userAID: try #require(UserID(users[0])),
                userBID: try #require(UserID(users[1])),
                count: 30,
                runStart: try #require(CalendarDate("2026-01-01"))
            ),
            from: "streaks"
        )
    }
}
