internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksDomain

/// What the events of streaks of one person add to the figures (TS-5): rows of their own, which a job adds up.
enum StreakConsumers {
    static var all: [EventHandler] { runs + freezes + others }

    private static var runs: [EventHandler] {
        [
            EventHandler(SoloStreakStarted.self, in: Fact.batch) { event, now in
                [fact(.started, event.kind, day(event.at, now), event.streakID)]
            },
            EventHandler(SoloStreakExtended.self, in: Fact.batch) { event, _ in facts(of: event) },
            EventHandler(SoloStreakBroken.self, in: Fact.batch) { event, now in facts(of: event, now) },
            EventHandler(SoloStreakRestored.self, in: Fact.batch) { event, now in
                var restored = fact(.restored, event.kind, day(event.at, now), event.streakID, bucket: event.reason.rawValue)
                restored.runDate = event.missedDate
                return [restored]
            },
            EventHandler(SoloStreakEnded.self, in: Fact.batch) { event, now in
                let day = day(event.at, now)
                // Nothing to count; but its run is over.
                var end = fact(.broken, event.kind, day, event.streakID)
                (end.amount, end.runDate) = (0, day)
                return [end]
            },
            EventHandler(SoloStreakReopened.self, in: Fact.batch) { event, now in
                // No break was undone; but its runs are to be read again.
                let day = day(event.at, now)
                var again = fact(.restored, event.kind, day, event.streakID)
                (again.amount, again.runDate) = (0, day)
                return [again]
            },
            EventHandler(SoloMilestoneReached.self, in: Fact.batch) { event, _ in
                guard event.firstTime else { return [] }
                return [fact(.milestone, event.kind, event.date, event.streakID, bucket: event.count)]
            },
        ]
    }

    private static var freezes: [EventHandler] {
        [
            EventHandler(FreezeUsed.self, in: Fact.batch) { event, _ in
                let bucket: Int32 = event.byHand ? 1 : 0
                return [fact(.freezeUsed, event.kind, event.date, event.streakID, bucket: bucket)]
            },
            EventHandler(FreezeReturned.self, in: Fact.batch) { event, _ in
                let bucket: Int32 = event.byHand ? 1 : 0
                return [fact(.freezeReturned, event.kind, event.date, event.streakID, bucket: bucket)]
            },
            EventHandler(FreezeEarned.self, in: Fact.batch) { event, _ in
                [fact(.freezeEarned, event.kind, event.date, event.streakID, amount: Int64(event.freezes))]
            },
        ]
    }

    private static var others: [EventHandler] {
        [
            EventHandler(StreakPaused.self, in: Fact.batch) { event, _ in
                [fact(.paused, event.kind, event.fromDate, event.streakID)]
            },
            EventHandler(ProtectionUsed.self, in: Fact.batch) { event, _ in
                let bucket = event.protection.rawValue
                return [fact(.protectionUsed, event.kind, event.date, event.streakID, bucket: bucket)]
            },
            EventHandler(ProtectionReturned.self, in: Fact.batch) { event, _ in
                let bucket = event.protection.rawValue
                return [fact(.protectionReturned, event.kind, event.date, event.streakID, bucket: bucket)]
            },
            EventHandler(CheckInUpdated.self, in: Fact.batch) { event, _ in
                [Fact(kind: .checkIn, metric: .updated, day: event.date)]
            },
            EventHandler(LeaderboardViewed.self, in: Fact.batch) { event, _ in
                [Fact(metric: .leaderboardViewer, day: event.week)]
            },
        ]
    }

    /// A date that grew the run. One that a freeze kept is counted by FreezeUsed.
    private static func facts(of event: SoloStreakExtended) -> [Fact] {
        var grown =
            switch event.via {
            case .fill: fact(.filled, event.kind, event.date, event.streakID)
            case .freeze: fact(.freezeUsed, event.kind, event.date, event.streakID, amount: 0)
            default: fact(.active, event.kind, event.date, event.streakID)
            }
        grown.runDate = event.runStart
        var facts = [grown]
        if grown.metric == .active { facts.append(.activity(of: event.userID, on: event.date)) }
        if event.runStart == event.date { facts.append(fact(.runStarted, event.kind, event.date, event.streakID)) }
        // The time machine came back; a freeze that did is emitted by itself.
        if event.replaces == .fill { facts.append(fact(.filled, event.kind, event.date, event.streakID, amount: -1)) }
        return facts
    }

    private static func facts(of event: SoloStreakBroken, _ now: Instant) -> [Fact] {
        Fact.ofBreak(
            StreakKind(rawValue: event.kind.rawValue),
            event.streakID,
            missed: event.missedDate,
            at: event.brokenAt ?? now,
            count: event.count,
            reason: event.reason.rawValue
        )
    }

    private static func fact(
        _ metric: AnalyticsMetric,
        _ kind: SoloKind,
        _ day: CalendarDate,
        _ streak: StreakID,
        bucket: Int32 = 0,
        amount: Int64 = 1
    ) -> Fact {
        Fact(
            kind: StreakKind(rawValue: kind.rawValue),
            metric: metric,
            day: day,
            bucket: bucket,
            amount: amount,
            streak: streak
        )
    }

    private static func day(_ instant: Instant?, _ now: Instant) -> CalendarDate { Zone.utc.date(at: instant ?? now) }
}
