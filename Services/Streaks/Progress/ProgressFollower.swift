internal import Kernel
package import Outbox
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// What changes of mutual streaks mean for their members: achievements (MS-7), and totals for the profile (D13). In the transaction that
/// causes it, each once.
package struct ProgressFollower: StreakFollower {
    package init() {}

    package func follow(_ all: [PlannedChange], _ urgency: Urgency, _ work: UnitOfWork) async throws {
        let changes = all.filter { $0.row.kind == .mutual }
        guard !changes.isEmpty else { return }
        try await Achievements.follow(changes, work)
        let authors = try await count(changes, work)
        // A count that grew may be a member's longest; a streak that stops or runs again changes how many run.
        let users = changes.filter { $0.changesStatus || $0.change.before.longest != $0.change.state.longest }
            .flatMap(\.row.members).filter { !authors.contains($0) }
        switch urgency {
        case .now: try await work.emit(try await StatsRepository.refresh(users, work.sql))
        case .soon: try await StatsRepository.noteStale(users, at: work.now, work.sql)
        }
    }

    /// Counts new snaps: one however many streaks it counts for. - Returns: their authors, whose totals are emitted with it.
    private func count(_ changes: [PlannedChange], _ work: UnitOfWork) async throws -> Set<UserID> {
        var authors: [UserID: Bool] = [:]
        for change in changes {
            guard let contribution = change.contribution else { continue }
            authors[contribution.user] = change.isOnTime ?? false
        }
        for (user, isOnTime) in authors.sorted(by: { $0.key < $1.key }) {
            let (totals, onTime) = try await StatsRepository.refresh(user, newPhotos: 1, newOnTime: isOnTime ? 1 : 0, work.sql)
            try await work.emit(totals)
            if isOnTime, let earned = StreaksDomain.Achievement.earned(byOnTimeSnap: onTime) {
                try await Achievements.grant([Achievements.Grant(user, earned)], work)
            }
        }
        return Set(authors.keys)
    }
}
