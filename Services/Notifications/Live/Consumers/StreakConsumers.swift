internal import Kernel
internal import NotificationsCore
internal import Outbox
internal import StreaksAPI

/// Changes of streaks and habits, for the open apps of those whose they are.
struct StreakConsumers: Sendable {
    let live: LiveEvents

    var all: [EventHandler] {
        let batch = EventBatch<LiveEvent> { [live] events, work in try await live.append(events, work) }
        return Self.mutual(batch) + SoloEvents.handlers(batch) + TeamEvents.handlers(batch) + HabitEvents.handlers(batch)
    }

    /// Streaks with friends.
    private static func mutual(_ batch: EventBatch<LiveEvent>) -> [EventHandler] {
        [
            EventHandler(StreakStarted.self, in: batch) { event, _ in
                changed(event.streakID, [event.userAID, event.userBID], .active, 0)
            },
            EventHandler(SnapCounted.self, in: batch) { event, _ in
                changed(event.streakID, [event.userID, event.friendID], .active, event.currentCount)
            },
            EventHandler(StreakBroken.self, in: batch) { event, _ in
                changed(event.streakID, [event.userAID, event.userBID], .broken, event.count)
            },
            EventHandler(StreakRestored.self, in: batch) { event, _ in
                changed(event.streakID, [event.userAID, event.userBID], .active, event.count)
            },
            EventHandler(StreakRecovered.self, in: batch) { event, _ in
                changed(event.streakID, [event.userAID, event.userBID], .active, event.count)
            },
            EventHandler(StreakEnded.self, in: batch) { event, _ in
                changed(event.streakID, [event.userAID, event.userBID], .ended, nil)
            },
        ]
    }

    private static func changed(
        _ streak: StreakID,
        _ members: [UserID],
        _ status: LiveEvent.StreakStatus,
        _ count: Int32?
    ) -> [LiveEvent] {
        members.map { .streak(streak, of: $0, status, count: count) }
    }
}
