internal import Kernel
internal import ServiceRuntime
package import StreaksDomain

/// Whether an account has room for a file, which is taken as a whole or not at all (HA-6, D22).
extension HabitBook {
    /// Refuses a file of more than fits: each habit and completion is a row, and so is what becomes of each date of a habit. The refusal says
    /// how many would fit.
    ///
    /// - Parameter replacing: whether it comes in place of all that the account has.
    /// - Throws: `TOO_MANY_HABITS`, `QUOTA_EXCEEDED`.
    package func requireRoom(for file: HabitImport, replacing: Bool = false) async throws {
        if !replacing { try await requireRoom(forHabits: file.habits.count) }
        try await requireRoom(forCompletions: file.completionCount, replacing: replacing)
        let dates = file.habits.reduce(0) { dates, habit in
            let first = [habit.firstDate, habit.createdAt.map { date.zones.date(at: $0) }].compactMap(\.self).min() ?? date.today
            return dates + max(0, max(first, HabitFileContext.earliest).distance(to: date.today))
        }
        let known = replacing ? 0 : try await HabitRepository.dates(of: user, until: date.today, work.sql)
        guard known + dates <= HabitLimits.mostDates else {
            throw ServiceError.quotaExceeded(
                "dates of habits, from the first of each until today",
                adding: dates,
                room: max(0, HabitLimits.mostDates - known),
                most: HabitLimits.mostDates,
                remedy: replacing ? Self.smallerBackup : "Delete habits, or import fewer."
            )
        }
    }

    private static let smallerBackup = "A backup takes the place of what you have: restore a smaller one."

    private func requireRoom(forHabits added: Int) async throws {
        let counts = try await HabitRepository.counts(of: user, work.sql)
        let room = max(0, HabitLimits.mostHabits - counts.all)
        guard added <= room else { throw ServiceError.tooManyHabits(adding: added, room: room) }
        let stored = max(0, HabitLimits.mostStored - counts.stored)
        guard added <= stored else { throw ServiceError.tooManyDeletedHabits(adding: added, room: stored) }
    }

    private func requireRoom(forCompletions added: Int, replacing: Bool) async throws {
        let quotas = store.quotas
        let room =
            replacing
            ? min(added, quotas.limit(of: .completions))
            : try await quotas.room(for: added, in: .completions, of: user, work.sql)
        guard room == added else {
            throw quotas.refusal(.completions, adding: added, room: room, remedy: replacing ? Self.smallerBackup : nil)
        }
    }
}
