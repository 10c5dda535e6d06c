internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksDomain

/// What the events of circles' streaks add to the figures (TS-5): a circle counts as a user does.
enum TeamConsumers {
    static var all: [EventHandler] {
        [
            EventHandler(CircleCheckedIn.self, in: Fact.batch) { event, _ in [.activity(of: event.userID, on: event.date)] },
            EventHandler(TeamStreakStarted.self, in: Fact.batch) { event, now in
                [fact(.started, Zone.utc.date(at: event.at ?? now), event.streakID)]
            },
            EventHandler(TeamStreakExtended.self, in: Fact.batch) { event, _ in
                var grown = fact(.active, event.date, event.streakID)
                grown.runDate = event.runStart
                let isFirst = event.runStart == event.date
                return [grown] + (isFirst ? [fact(.runStarted, event.date, event.streakID)] : [])
            },
            EventHandler(TeamStreakBroken.self, in: Fact.batch) { event, now in
                let at = event.brokenAt ?? now
                return Fact.ofBreak(.team, event.streakID, missed: event.missedDate, at: at, count: event.count)
            },
            EventHandler(TeamStreakRestored.self, in: Fact.batch) { event, now in
                let day = Zone.utc.date(at: event.at ?? now)
                var restored = fact(.restored, day, event.streakID, bucket: RestoredBy.late.rawValue)
                restored.runDate = event.missedDate
                return [restored]
            },
            EventHandler(TeamStreakEnded.self, in: Fact.batch) { event, now in
                let day = Zone.utc.date(at: event.at ?? now)
                // Nothing to count; but its run is over.
                var end = fact(.broken, day, event.streakID)
                (end.amount, end.runDate) = (0, day)
                return [end]
            },
            EventHandler(TeamMilestoneReached.self, in: Fact.batch) { event, _ in
                guard event.firstTime else { return [] }
                return [fact(.milestone, event.date, event.streakID, bucket: event.count)]
            },
        ]
    }

    private static func fact(_ metric: AnalyticsMetric, _ day: CalendarDate, _ streak: StreakID, bucket: Int32 = 0) -> Fact {
        Fact(kind: .team, metric: metric, day: day, bucket: bucket, streak: streak)
    }
}
