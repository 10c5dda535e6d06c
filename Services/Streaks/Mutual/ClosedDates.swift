internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// What stays closed to members whose friendship has ended (PH-4): the dates that were not over for the streak then, unless they have posted for them.
struct ClosedDates: Sendable {
    let database: Database

    /// The first of these dates; nil while the two are friends, whatever the streak has come to.
    func first(of streak: StreakRow) async throws -> CalendarDate? {
        guard streak.status == .ended,
            let end = try await StartRepository.friendshipEnd(of: streak.id, database)
        else { return nil }
        let clocks = try await ZoneRepository.histories(of: streak.members, database)
        return streak.members.map { (clocks[$0] ?? ZoneHistory(.utc)).openFrom(at: end) }.min()
    }
}
