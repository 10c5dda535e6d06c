package import Kernel
package import Outbox
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// Keeps reminders of habits in step with what their users do, in the transaction that does it: a reminder that was sent needs no attention
/// once its date is done or skipped, and another clock has other times. Changes of the habits themselves are followed by a trigger.
///
/// A completion waits for none of it: what it means for a reminder is noted with the commit, and emitted by the job.
package struct HabitReminderFollower: StreakFollower {
    package init() {}

    package func follow(_ changes: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        var settled: [HabitReminderRepository.Settled] = []
        for change in changes where change.row.kind == .habit && !change.isStart {
            guard let before = change.change.before.habit, let after = change.change.state.habit else { continue }
            // A reminder is of the present date, or one that is answered after midnight of the one before.
            for date in [after.today.advanced(by: -1), after.today] {
                guard let answer = after.days[date]?.status.answer, before.days[date]?.status.answer != answer else { continue }
                settled.append(HabitReminderRepository.Settled(streak: change.row.id, date: date, answer: answer))
            }
        }
        guard !settled.isEmpty else { return }
        // The schedules first, as the job locks them.
        try HabitScheduleRepository.wake(settled, at: work.now, work.sql)
        try HabitReminderRepository.note(settled, work.sql)
    }

    package func clockChanged(of user: UserID, _ work: UnitOfWork) async throws {
        try await HabitScheduleRepository.reschedule(user, at: work.now, work.sql)
    }
}

extension HabitDay.Status {
    /// What it means for a reminder of its date; nil: nothing.
    var answer: ReminderAnswer? {
        switch self {
        case .done: .completed
        case .skipped: .skipped
        default: nil
        }
    }
}
