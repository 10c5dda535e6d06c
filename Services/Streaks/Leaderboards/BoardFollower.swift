internal import Kernel
package import Outbox
package import StreaksCore
internal import StreaksDomain

/// Notes streaks whose place on a leaderboard has changed, in the transaction that changes them: one row for all streaks of the
/// change (CI-7). Not from the events: the relay gives way while many streaks are settled, and would bring a midnight's breaks
/// late.
package struct BoardFollower: StreakFollower {
    package init() {}

    package func follow(_ changes: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        let moved = changes.filter { $0.row.kind.hasLeaderboard && $0.movesOnBoard }.map(\.row.id)
        if !moved.isEmpty { try BoardFeed.append(moved, work.sql) }
    }
}

extension PlannedChange {
    /// Whether anything that decides a place is another than what was stored.
    fileprivate var movesOnBoard: Bool {
        let (old, new) = (change.before, change.state)
        return row.count != Int32(new.count) || row.longest != Int32(new.longest) || row.status != new.status
            || old.runStart != new.runStart
    }
}
