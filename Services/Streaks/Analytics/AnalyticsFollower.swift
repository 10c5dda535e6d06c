package import Outbox
package import StreaksCore
internal import StreaksDomain

/// Notes who completed a habit, in the transaction that does: a completion emits no event. Whatever else counts for a date does, and the
/// figures have it from there.
package struct AnalyticsFollower: StreakFollower {
    package init() {}

    package func follow(_ changes: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        // What is imported or restored was done elsewhere, or is counted already.
        let completions = changes.filter(\.reportsMilestones).flatMap(\.completions)
        try ActiveUserRepository.add(completions.map { ($0.user, $0.date) }, work.sql)
    }
}
