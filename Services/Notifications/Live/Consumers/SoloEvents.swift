internal import Kernel
internal import NotificationsCore
internal import Outbox
internal import StreaksAPI

/// Changes of a user's check-in and typed streaks (`SoloStreakEvent`).
enum SoloEvents {
    static func handlers(_ batch: EventBatch<LiveEvent>) -> [EventHandler] { course(batch) + protection(batch) + pauses(batch) }

    /// What a streak counts, and whether it runs.
    private static func course(_ batch: EventBatch<LiveEvent>) -> [EventHandler] {
        [
            EventHandler(SoloStreakStarted.self, in: batch) { event, _ in
                SoloChange(event.streakID, event.userID, event.kind, "started", .active, 0).events
            },
            EventHandler(SoloStreakExtended.self, in: batch) { event, _ in
                // A freeze extends it with `FreezeUsed`, which says more.
                guard event.via != .freeze else { return [] }
                let word = event.via == .fill ? "filled" : "extended"
                var change = SoloChange(event.streakID, event.userID, event.kind, word, .active, event.count)
                (change.date, change.deadlineAt) = (event.date, event.deadlineAt)
                return change.events
            },
            EventHandler(SoloStreakBroken.self, in: batch) { event, _ in
                // The event has the count that was lost.
                var change = SoloChange(event.streakID, event.userID, event.kind, "broken", .broken, 0)
                (change.date, change.repairableUntil) = (event.missedDate, event.repairableUntil)
                return change.events
            },
            EventHandler(SoloStreakRestored.self, in: batch) { event, _ in
                let word = event.reason == .repair ? "repaired" : "restored"
                var change = SoloChange(event.streakID, event.userID, event.kind, word, .active, event.count)
                (change.date, change.deadlineAt) = (event.missedDate, event.deadlineAt)
                return change.events
            },
            EventHandler(SoloStreakEnded.self, in: batch) { event, _ in
                SoloChange(event.streakID, event.userID, event.kind, "ended", .ended).events
            },
            EventHandler(SoloStreakReopened.self, in: batch) { event, _ in
                SoloChange(event.streakID, event.userID, event.kind, "reopened", .active).events
            },
        ]
    }

    /// What keeps a streak.
    private static func protection(_ batch: EventBatch<LiveEvent>) -> [EventHandler] {
        [
            EventHandler(FreezeUsed.self, in: batch) { event, _ in
                var change = SoloChange(event.streakID, event.userID, event.kind, "frozen", .active, event.count)
                (change.date, change.freezesLeft, change.deadlineAt) = (event.date, event.freezesLeft, event.deadlineAt)
                return change.events
            },
            EventHandler(FreezeReturned.self, in: batch) { event, _ in
                var change = SoloChange(event.streakID, event.userID, event.kind, "freeze_returned")
                (change.date, change.freezesLeft) = (event.date, event.freezesLeft)
                return change.events
            },
            EventHandler(FreezeEarned.self, in: batch) { event, _ in
                var change = SoloChange(event.streakID, event.userID, event.kind, "freezes_earned")
                (change.date, change.freezesLeft) = (event.date, event.freezesLeft)
                return change.events
            },
            EventHandler(ProtectionUsed.self, in: batch) { event, _ in
                var change = SoloChange(event.streakID, event.userID, event.kind, "protected", .active, event.count)
                change.date = event.date
                return change.events
            },
            EventHandler(ProtectionReturned.self, in: batch) { event, _ in
                var change = SoloChange(event.streakID, event.userID, event.kind, "protection_returned")
                change.date = event.date
                return change.events
            },
        ]
    }

    private static func pauses(_ batch: EventBatch<LiveEvent>) -> [EventHandler] {
        [
            EventHandler(StreakPaused.self, in: batch) { event, _ in
                var change = SoloChange(event.streakID, event.userID, event.kind, "paused")
                (change.date, change.pausedUntil) = (event.fromDate, event.untilDate)
                return change.events
            },
            EventHandler(PauseEnded.self, in: batch) { event, _ in
                var change = SoloChange(event.streakID, event.userID, event.kind, "resumed")
                change.date = event.untilDate
                return change.events
            },
        ]
    }
}

/// What `SoloStreakEvent` says; nil where it is as before.
private struct SoloChange {
    let streak: StreakID
    let user: UserID
    let kind: SoloKind
    let word: String
    let status: LiveEvent.StreakStatus?
    let count: Int32?
    var date: CalendarDate?
    var freezesLeft: Int32?
    var deadlineAt: Instant?
    var repairableUntil: Instant?
    var pausedUntil: CalendarDate?

    init(
        _ streak: StreakID,
        _ user: UserID,
        _ kind: SoloKind,
        _ word: String,
        _ status: LiveEvent.StreakStatus? = nil,
        _ count: Int32? = nil
    ) {
        (self.streak, self.user, self.kind, self.word) = (streak, user, kind, word)
        (self.status, self.count) = (status, count)
    }

    /// None of a kind that is newer than this code.
    var events: [LiveEvent] {
        switch kind {
        case .unspecified, .unrecognized: return []
        default: break
        }
        return [
            LiveEvent(
                user,
                "solo_streak",
                [
                    ("streak_id", .word(streak.description)), ("kind", .word(kind.name)), ("change", .word(word)),
                    ("status", .word(status?.rawValue)), ("count", .number(count.map(Int64.init))),
                    ("date", .word(date?.description)), ("freezes_left", .number(freezesLeft.map(Int64.init))),
                    ("deadline_at", .instant(deadlineAt)), ("repairable_until", .instant(repairableUntil)),
                    ("paused_until", .word(pausedUntil?.description)),
                ]
            )
        ]
    }
}
