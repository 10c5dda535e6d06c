internal import Kernel
internal import MediaAPI
internal import Outbox
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Activities that the platform sees itself (TS-1): a counted snap is a daily snap, a shared card a social share.
struct ActivityConsumers: Sendable {
    let activities: Activities
    let profiles: ProfileReplica

    var handlers: [EventHandler] {
        [
            EventHandler(SnapCounted.self) { event, work in
                guard try await isActive(event.userID, work) else { return }
                // A snap to several streaks counts once for its date.
                try await activities.record(
                    .dailySnap,
                    by: event.userID,
                    on: event.date,
                    receivedAt: event.receivedAt ?? event.countedAt ?? work.now,
                    work
                )
            },
            EventHandler(CardShared.self) { event, work in
                guard try await isActive(event.userID, work) else { return }
                let sharedAt = event.sharedAt ?? work.now
                guard let zones = try await ZoneRepository.histories(of: [event.userID], work.sql)[event.userID] else {
                    throw ServiceError.unavailable("The user's zone is not known yet.")
                }
                try await activities.record(
                    .socialShare,
                    by: event.userID,
                    on: zones.date(at: sharedAt),
                    receivedAt: sharedAt,
                    work
                )
            },
        ]
    }

    /// An account that is shut has no streaks to feed.
    private func isActive(_ user: UserID, _ work: UnitOfWork) async throws -> Bool {
        try await profiles.known([user], work.sql)[user]?.status == .active
    }
}
