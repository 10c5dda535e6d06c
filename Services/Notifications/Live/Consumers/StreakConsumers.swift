internal import Kernel
internal import NotificationsCore
internal import Outbox
internal import StreaksAPI

/// Changes of streaks, for the open apps of their members.
struct StreakConsumers: Sendable {
    let live: LiveEvents

    var all: [EventHandler] {
        [
            EventHandler(StreakStarted.self) { event, work in
                try await changed(event.streakID, [event.userAID, event.userBID], .active, 0, work)
            },
            EventHandler(SnapCounted.self) { event, work in
                try await changed(event.streakID, [event.userID, event.friendID], .active, event.currentCount, work)
            },
            EventHandler(StreakBroken.self) { event, work in
                try await changed(event.streakID, [event.userAID, event.userBID], .broken, event.count, work)
            },
            EventHandler(StreakRestored.self) { event, work in
                try await changed(event.streakID, [event.userAID, event.userBID], .active, event.count, work)
            },
            EventHandler(StreakRecovered.self) { event, work in
                try await changed(event.streakID, [event.userAID, event.userBID], .active, event.count, work)
            },
            EventHandler(StreakEnded.self) { event, work in
                try await changed(event.streakID, [event.userAID, event.userBID], .ended, nil, work)
            },
        ]
    }

    private func changed(
        _ streak: StreakID,
        _ members: [UserID],
        _ status: LiveEvent.StreakStatus,
        _ count: Int32?,
        _ work: UnitOfWork
    ) async throws {
        try await live.append(members.map { .streak(streak, of: $0, status, count: count) }, work)
    }
}
