internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// The figures of one kind.
struct AnalyticsDays {
    private let figures: AnalyticsFigures
    private let kind: StreakKind
    private let levels: [AnalyticsMetric: [Int64]]
    private let longest: [Int32: [Int64]]

    init(_ figures: AnalyticsFigures, _ kind: StreakKind) {
        (self.figures, self.kind) = (figures, kind)
        let metrics: [AnalyticsMetric] = [.running, .runningSum, .runningAt7, .runningAt30, .runningAt100]
        levels = Dictionary(uniqueKeysWithValues: metrics.map { ($0, figures.levels(kind, $0)) })
        longest = Dictionary(uniqueKeysWithValues: StreakGauge.ranges.map { ($0, figures.levels(kind, .longest, $0)) })
    }

    private func level(_ metric: AnalyticsMetric, _ day: CalendarDate) -> Int64 {
        levels[metric]?[figures.range.lowerBound.distance(to: day)] ?? 0
    }

    func day(_ day: CalendarDate) -> StreakAnalyticsDay {
        func value(_ metric: AnalyticsMetric, _ bucket: Int32? = nil) -> Int64 { figures.value(day, kind, metric, bucket) }
        let frozen = value(.freezeUsed) - value(.freezeReturned)
        var reply = StreakAnalyticsDay(date: day, type: kind.typeName)
        reply.active = value(.active)
        reply.started = value(.started)
        reply.runsStarted = value(.runStarted)
        reply.extended = value(.active) + value(.filled) + frozen
        reply.broken = value(.broken)
        reply.brokenAt7 = value(.brokenAt7)
        reply.brokenMissedByBoth = value(.broken, AnalyticsMetric.missedByBoth)
        reply.brokenMissed = value(.broken, Fact.missedDate) + reply.brokenMissedByBoth
        reply.brokenModeration = value(.broken, Fact.moderation)
        reply.restored = value(.restored)
        reply.restoredByRepair = value(.restored, RestoredBy.repair.rawValue)
        reply.restoredByFill = value(.restored, RestoredBy.fill.rawValue)
        reply.restoredByFreeze = value(.restored, RestoredBy.freeze.rawValue)
        reply.restoredLate = value(.restored, RestoredBy.late.rawValue)
        reply.freezesUsed = frozen
        reply.freezesByHand = value(.freezeUsed, 1) - value(.freezeReturned, 1)
        if kind == .mutual { reply.tokensEarned = value(.freezeEarned) } else { reply.freezesEarned = value(.freezeEarned) }
        reply.pauses = value(.paused)
        let token = AnalyticsMetric.recoveryToken
        reply.tokensUsed = value(.protectionUsed, token) - value(.protectionReturned, token)
        reply.protectionsUsed = value(.protectionUsed) - value(.protectionReturned) - reply.tokensUsed
        reply.cardsShared = value(.cardShared)
        reply.conversions = value(.conversion)
        reply.conversionsAt7 = value(.conversion, 7) + value(.conversion, 30)
        reply.conversionsAt30 = value(.conversion, 30)
        reply.milestones = figures.buckets(kind, .milestone).map {
            MilestoneFigure(count: $0, reached: value(.milestone, $0))
        }
        reply.updated = value(.updated)
        reply.updateRate = kind == .checkIn ? AnalyticsFigures.percent(reply.updated, of: reply.active) : nil
        addLevels(to: &reply, day)
        // A streak that has ended since, as by a deletion of the account, was active and does not run.
        reply.completionRate = AnalyticsFigures.percent(min(reply.active, reply.running), of: reply.running)
        return reply
    }

    /// How many run at the end of the day.
    private func addLevels(to reply: inout StreakAnalyticsDay, _ day: CalendarDate) {
        let running = level(.running, day)
        reply.running = running
        reply.averageStreak = AnalyticsFigures.mean(level(.runningSum, day), of: running)
        reply.runningAt7 = level(.runningAt7, day)
        reply.runningAt30 = level(.runningAt30, day)
        reply.runningAt100 = level(.runningAt100, day)
        reply.shareAt7 = AnalyticsFigures.percent(reply.runningAt7, of: running)
        reply.shareAt30 = AnalyticsFigures.percent(reply.runningAt30, of: running)
        reply.shareAt100 = AnalyticsFigures.percent(reply.runningAt100, of: running)
        let place = figures.range.lowerBound.distance(to: day)
        reply.longest = StreakGauge.ranges.map { LongestFigure(from: $0, streaks: longest[$0]?[place] ?? 0) }
        reply.streaks = reply.longest.reduce(0) { $0 + $1.streaks }
    }

    /// How many ran at the end of a day of the range.
    func running(_ day: CalendarDate) -> Int64 { level(.running, day) }

    /// The range as a whole.
    var totals: StreakAnalyticsTotals {
        func total(_ metric: AnalyticsMetric, _ bucket: Int32? = nil) -> Int64 { figures.total(kind, metric, bucket) }
        let started = figures.ever(kind, .started)
        let frozen = total(.freezeUsed) - total(.freezeReturned)
        let (days, sum) = (Int64(figures.range.count), (levels[.running] ?? []).reduce(0, +))
        // Of friends: a token undoes the break of any run, and a streak has two users who may become premium.
        let isMutual = kind == .mutual
        return StreakAnalyticsTotals(
            type: kind.typeName,
            broken: total(.broken),
            recoveryRate: AnalyticsFigures.percent(total(.restored), of: total(.broken)),
            repairRate: isMutual
                ? nil : AnalyticsFigures.percent(total(.restored, RestoredBy.repair.rawValue), of: total(.brokenAt7)),
            brokenByWeekday: (1...7).map { total(.brokenWeekday, $0) },
            brokenByHour: (0...23).map { total(.brokenHour, $0) },
            milestones: figures.buckets(kind, .milestone).map { count in
                let reached = figures.ever(kind, .milestone, count)
                return MilestoneRate(count: count, reached: reached, rate: AnalyticsFigures.percent(reached, of: started))
            },
            freezesPerStreak: AnalyticsFigures.mean(frozen * days, of: sum),
            conversionAt30: isMutual
                ? nil : AnalyticsFigures.percent(total(.conversion, 30), of: levels[.runningAt30]?.last ?? 0),
            freezesPerStreakIn30Dates: AnalyticsFigures.mean(frozen * 30, of: sum),
            updateRate: kind == .checkIn ? AnalyticsFigures.percent(total(.updated), of: total(.active)) : nil
        )
    }
}
