package import Kernel
package import Outbox
internal import StreaksAPI
package import StreaksDomain
package import Wire

/// Keeps what is stored of habits' dates and runs in step with the fold, and reports their milestones (HA-11), in the transaction that changes
/// them.
package struct HabitFollower: StreakFollower {
    package init() {}

    package func follow(_ all: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        let changes = all.filter { $0.row.kind == .habit }
        guard !changes.isEmpty else { return }
        try HabitDays.store(
            changes.compactMap { change in
                change.change.state.habit.map { state in
                    HabitDays.Change(change.row.id, from: change.isStart ? nil : change.change.before.habit, to: state)
                }
            },
            work.sql
        )
        try await report(changes, work)
    }

    package func clockChanged(of user: UserID, _ work: UnitOfWork) async throws { try HabitDays.setStale(of: user, work.sql) }

    private func report(_ changes: [PlannedChange], _ work: UnitOfWork) async throws {
        var reached: [HabitRepository.Milestone] = []
        for change in changes where change.reportsMilestones {
            guard let unit = change.change.state.habit?.unit else { continue }
            for case .milestone(let count, let date, _, _) in change.change.effects {
                reached.append(HabitRepository.Milestone(streak: change.row.id, count: count, unit: unit, date: date))
            }
        }
        guard !reached.isEmpty else { return }
        let habits = try await HabitRepository.names(of: reached.map(\.streak), work.sql)
        try await work.emit(
            reached.compactMap { milestone in
                habits[milestone.streak].map { habit in
                    HabitMilestoneReached(
                        streakID: milestone.streak,
                        userID: habit.user,
                        habitID: habit.id,
                        name: habit.name,
                        count: Int32(clamping: milestone.count),
                        unit: milestone.unit == .dates ? .days : .weeks,
                        date: milestone.date,
                        at: work.now
                    )
                }
            }
        )
    }
}

/// The streaks of habits are settled by replicas that run their feature. What a change of one means is said by `HabitFollower`.
package struct HabitEvents: StreakKindEvents {
    package let kind = StreakKind.habit
    package let feature: String

    /// - Parameter feature: the name of the feature that has habits.
    package init(feature: String) { self.feature = feature }

    package func events(of _: PlannedChange) -> [any Event] { [] }
}
