internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksDomain

/// What the events of the streaks of friends add to the figures (TS-5): a pair counts as a user does.
enum MutualConsumers {
    static var all: [EventHandler] { growth + breaks + tokens }

    private static var growth: [EventHandler] {
        [
            EventHandler(StreakStarted.self, in: Fact.batch) { event, now in
                [fact(.started, day(event.startedAt, now), event.streakID)]
            },
            EventHandler(SnapCounted.self, in: Fact.batch) { event, _ in
                let activity = Fact.activity(of: event.userID, on: event.date)
                guard event.dateCompleted else { return [activity] }
                var grown = fact(.active, event.date, event.streakID)
                grown.runDate = event.runStart
                let isFirst = event.runStart == event.date
                return [activity, grown] + (isFirst ? [fact(.runStarted, event.date, event.streakID)] : [])
            },
            EventHandler(MilestoneReached.self, in: Fact.batch) { event, _ in
                [fact(.milestone, event.date, event.streakID, bucket: event.count)]
            },
            EventHandler(StreakEnded.self, in: Fact.batch) { event, now in
                let day = day(event.endedAt, now)
                // Nothing to count; but its run is over.
                var end = fact(.broken, day, event.streakID)
                (end.amount, end.runDate) = (0, day)
                return [end]
            },
        ]
    }

    private static var breaks: [EventHandler] {
        [
            EventHandler(StreakBroken.self, in: Fact.batch) { event, now in
                let missed = event.brokenByUserID == nil ? AnalyticsMetric.missedByBoth : Fact.missedDate
                return Fact.ofBreak(
                    .mutual,
                    event.streakID,
                    missed: event.missedDate,
                    at: event.brokenAt ?? now,
                    count: event.count,
                    reason: event.isFinal ? Fact.moderation : missed
                )
            },
            EventHandler(StreakRestored.self, in: Fact.batch) { event, now in
                [restored(event.streakID, by: .late, day(event.restoredAt, now), missed: event.missedDate)]
            },
        ]
    }

    private static var tokens: [EventHandler] {
        [
            EventHandler(StreakRecovered.self, in: Fact.batch) { event, now in
                let token = fact(.protectionUsed, event.fromDate, event.streakID, bucket: AnalyticsMetric.recoveryToken)
                if event.inAdvance { return [token] }
                return [token, restored(event.streakID, by: .repair, day(event.recoveredAt, now), missed: event.fromDate)]
            },
            EventHandler(RecoveryTokenReturned.self, in: Fact.batch) { event, _ in
                [fact(.protectionReturned, event.date, event.streakID, bucket: AnalyticsMetric.recoveryToken)]
            },
            EventHandler(RecoveryTokenEarned.self, in: Fact.batch) { event, now in
                var earned = fact(.freezeEarned, event.date ?? day(nil, now), event.streakID)
                // One for each of the two.
                earned.amount = 2
                return [earned]
            },
        ]
    }

    private static func restored(_ streak: StreakID, by cause: RestoredBy, _ day: CalendarDate, missed: CalendarDate?) -> Fact {
        var restored = fact(.restored, day, streak, bucket: cause.rawValue)
        restored.runDate = missed
        return restored
    }

    private static func fact(_ metric: AnalyticsMetric, _ day: CalendarDate, _ streak: StreakID, bucket: Int32 = 0) -> Fact {
        Fact(kind: .mutual, metric: metric, day: day, bucket: bucket, streak: streak)
    }

    private static func day(_ instant: Instant?, _ now: Instant) -> CalendarDate { Zone.utc.date(at: instant ?? now) }
}
