internal import Database
package import Kernel
package import Outbox
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// Reminders of users' days: with mutual streaks their snap window and a day that ends with streaks at risk; of their solo streaks what the
/// day and the streak's state call for (PW-2, NO-5).
package enum RemindersFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "reminders",
            migrations: [
                MigrationSet(
                    "reminders",
                    [
                        Migration(version: 1, name: "reminders", sql: PackageResources.V0001_reminders_sql),
                        Migration(version: 2, name: "solo", sql: PackageResources.V0002_solo_sql),
                    ]
                )
            ],
            personalData: [.reminders]
        ) { environment in
            let store = try StreaksCore(environment, extensions).store
            return FeatureParts(
                jobs: [
                    ReminderJob(work: environment.work, store: store).job,
                    SoloReminderJob(work: environment.work, store: store).job,
                ]
            )
        }
    }
}

/// Keeps the schedule of reminders in step with streaks and clocks, in the transaction that changes them.
package struct ReminderFollower: StreakFollower {
    package init() {}

    package func follow(_ changes: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        let running = changes.filter { $0.row.kind == .mutual && $0.runsAgain }
        guard let now = running.map(\.now).max() else { return }
        try await ReminderRepository.schedule(Array(Set(running.flatMap(\.row.members))), now: now, work.sql)
    }

    package func clockChanged(of user: UserID, _ work: UnitOfWork) async throws {
        try await ReminderRepository.reschedule(user, now: work.now, work.sql)
    }
}
