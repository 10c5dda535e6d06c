internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Notifies circles that their streak may break, once a date (NO-5). What is found too late, or has been settled otherwise, is
/// dropped.
struct TeamReminderJob: Sendable {
    private static let batch = 100

    let work: UnitOfWorkFactory
    let store: StreakStore

    var job: Job {
        Job(
            "team_reminders",
            every: .seconds(10),
            oldestDue: { [store] in try await TeamRepository.oldestDue(store.database) }
        ) { [self] now in
            try await work.run(trace: "", requestID: "") { work in try await emit(dueAt: now, work) }
        }
    }

    /// Handles one batch of circles. - Returns: how many.
    func emit(dueAt now: Instant, _ work: UnitOfWork) async throws -> Int {
        let due = try await TeamRepository.lockDue(at: now, limit: Self.batch, work.sql)
        guard !due.isEmpty else { return 0 }
        let rows = try await TeamRepository.rows(due.map(\.streak), work.sql)
        let loaded = try await store.load(rows, isWhole: false, work.sql)
        let streaks = Dictionary(loaded.map { ($0.row.id, $0) }) { first, _ in first }
        for team in due {
            guard let stored = streaks[team.streak] else {
                try await TeamRepository.noteReminded(team.circle, of: nil, next: nil, work.sql)
                continue
            }
            let instant = max(now, stored.row.settledAt)
            let state = fold(stored.ledger, store.policies.policy(for: .team), at: instant)
            let date = TeamReminder.due(stored.ledger, state, handled: team.remindedFor)
            if let date { try await work.emit(event(team, date, stored.ledger, state)) }
            // Too late for the open date: it is handled too.
            var handled = date?.date
            if date == nil, let at = TeamReminder.next(stored.ledger, state, handled: team.remindedFor), at <= instant {
                handled = state.openDate
            }
            let next = TeamReminder.next(stored.ledger, state, handled: handled ?? team.remindedFor)
            try await TeamRepository.noteReminded(team.circle, of: handled, next: next, work.sql)
        }
        return due.count
    }

    private func event(_ team: TeamRepository.Team, _ date: TeamDate, _ ledger: StreakLedger, _ state: StreakState) -> TeamAtRisk
    {
        TeamAtRisk(
            streakID: team.streak,
            circleID: team.circle,
            circleName: team.name,
            waitingIDs: TeamReminder.canHelp(date, ledger, at: state.asOf),
            date: date.date,
            count: Int32(state.count),
            missing: Int32(date.missing),
            deadlineAt: date.endsAt,
            graceAvailable: date.hasGrace
        )
    }
}
