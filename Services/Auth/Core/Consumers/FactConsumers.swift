internal import BillingAPI
internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksAPI

/// Facts of other services that the profile shows (D13).
enum FactConsumers {
    static let all: [EventHandler] =
        [
            EventHandler(UserStreakStatsChanged.self) { event, work in
                try await FactRepository.store(
                    stats: event.userID,
                    version: event.version,
                    active: event.activeStreaks,
                    longest: event.longestStreak,
                    photos: event.totalPhotos,
                    work.sql
                )
            },
            EventHandler(RecoveryBalanceChanged.self) { event, work in
                try await FactRepository.store(
                    balance: event.userID,
                    version: event.version,
                    balance: event.balance,
                    work.sql
                )
            },
            EventHandler(PublicRewardsChanged.self) { event, work in try await RewardsRepository.store(event, work.sql) },
            EntitlementReplica().handler(),
        ]
}
