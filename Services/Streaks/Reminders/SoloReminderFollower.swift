package import Kernel
package import Outbox
package import StreaksCore
internal import StreaksDomain

/// Keeps the schedule of solo reminders in step with streaks and clocks, in the transaction that changes them. A check-in that only extends a
/// run costs nothing: the job looks at the streak when a reminder is due.
package struct SoloReminderFollower: StreakFollower {
    package init() {}

    package func follow(_ changes: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        let solo = changes.filter { $0.row.kind.isSolo && !$0.row.members.isEmpty }
        guard !solo.isEmpty else { return }
        var begun: Set<UserID> = []
        var going: Set<UserID> = []
        var breaks: [(user: UserID, news: SoloReminderRepository.Break)] = []
        for change in solo {
            let (user, before, after) = (change.row.members[0], change.change.before, change.change.state)
            if after.status == .active, after.count > 0, before.count == 0 || change.runsAgain { begun.insert(user) }
            guard change.row.kind == .checkIn else { continue }
            if after.count > 0, begun.contains(user) { going.insert(user) }
            guard after.count == 0, after.status != .ended else { continue }
            for case .broken(let date, let at, _, let count) in change.change.effects.reversed() {
                breaks.append((user, .init(missedDate: date, brokenAt: at, lostCount: Int32(clamping: count))))
                break
            }
        }
        try await SoloReminderRepository.schedule(Array(begun), now: work.now, work.sql)
        try await SoloReminderRepository.forgetBreaks(of: going.sorted(), work.sql)
        try await SoloReminderRepository.note(breaks, now: work.now, work.sql)
    }

    package func clockChanged(of user: UserID, _ work: UnitOfWork) async throws {
        try await SoloReminderRepository.reschedule(user, now: work.now, work.sql)
    }
}
