public import Kernel

/// What is counted by day and kind of streak (TS-5). The raw value is the one in SQL and never changes. The bucket says more,
/// where there is more to say.
public enum AnalyticsMetric: Int32, CaseIterable, Hashable, Sendable {
    /// A date with a contribution.
    case active = 1
    case started = 2
    /// The first date of a run. Bucket: none.
    case runStarted = 3
    /// A date that a time machine filled.
    case filled = 4
    /// Bucket: 1 missed, 2 by a moderator, 3 missed by both friends of a mutual streak.
    case broken = 5
    /// A break of a run of 7 or more.
    case brokenAt7 = 6
    /// Bucket: weekday of the missed date, 1 = Monday.
    case brokenWeekday = 7
    /// Bucket: UTC hour of the break.
    case brokenHour = 8
    /// Bucket: `RestoredBy`.
    case restored = 9
    /// A count reached for the first time. Bucket: the count.
    case milestone = 10
    /// Freezes spent on the date. Bucket: 0 automatic, 1 by hand.
    case freezeUsed = 11
    /// Bucket: the same.
    case freezeReturned = 12
    /// Of mutual streaks: recovery tokens.
    case freezeEarned = 13
    case paused = 14
    /// Bucket: `ProtectionKind` of the events, or 3: a recovery token.
    case protectionUsed = 15
    /// Bucket: the same.
    case protectionReturned = 16
    /// A user became premium while a streak ran. Bucket: 0, 7 or 30, the count it had at least.
    case conversion = 17
    /// A user's first look at a leaderboard in the week that begins on the day. Kind: none.
    case leaderboardViewer = 18
    /// A change of the number of running streaks, of the sum of their counts, and of those with at least 7, 30 and 100.
    case running = 19
    case runningSum = 20
    case runningAt7 = 21
    case runningAt30 = 22
    case runningAt100 = 23
    /// A change of the number of streaks with a longest count in a range. Bucket: where the range begins.
    case longest = 24
    /// A user reported more for a date after its check-in.
    case updated = 25
    /// What became of notifications that were written on the day. Kind: none. Bucket: the kind of notification.
    case notificationPushed = 26
    case notificationSent = 27
    case notificationReceived = 28
    case notificationFailed = 29
    case notificationOpened = 30
    case notificationOpenedPushed = 31
    case notificationMarkedRead = 32
    /// A member shared a milestone card where others see it.
    case cardShared = 33
    /// A user did something that counts for the date, in whatever kind: once for each date. Kind: none.
    case activeUser = 34

    /// The bucket of breaks that both friends of a mutual streak missed.
    public static let missedByBoth: Int32 = 3
    /// The bucket of recovery tokens among what kept a streak.
    public static let recoveryToken: Int32 = 3
}

/// What undid a break; the value is `SoloReason` of the events.
public enum RestoredBy: Int32, Sendable {
    case late = 3
    case repair = 4
    case fill = 5
    case freeze = 6
}

/// A number that a day's figures change by.
public struct AnalyticsChange: Hashable, Sendable {
    public let metric: AnalyticsMetric
    public let bucket: Int32
    public let amount: Int64

    public init(_ metric: AnalyticsMetric, _ bucket: Int32 = 0, _ amount: Int64 = 1) {
        (self.metric, self.bucket, self.amount) = (metric, bucket, amount)
    }
}

/// What the figures know of one streak: they change by the difference of two states, so that looking at a streak twice counts
/// once.
public struct StreakGauge: Hashable, Sendable {
    /// 0 unless it runs.
    public let count: Int
    public let longest: Int

    public init(count: Int, longest: Int) { (self.count, self.longest) = (count, longest) }

    /// Where the ranges of longest counts begin.
    public static let ranges: [Int32] = [0, 1, 7, 30, 100, 365]

    /// By what the figures change when a streak goes from one state to another; nil: it does not exist.
    public static func changes(from old: StreakGauge?, to new: StreakGauge?) -> [AnalyticsChange] {
        var changes = new?.parts(1) ?? [:]
        for (part, amount) in old?.parts(-1) ?? [:] { changes[part, default: 0] += amount }
        return changes.filter { $0.value != 0 }.map { AnalyticsChange($0.key.metric, $0.key.bucket, $0.value) }
    }

    /// What has happened to a streak on a date, or for it.
    public struct Day: Hashable, Sendable {
        public let date: CalendarDate
        /// By how many the date extended the streak; -1 when what had extended it came back.
        public var extended = 0
        /// The date was missed, and the streak broke.
        public var isBroken = false
        /// A break was undone, or an end.
        public var isRestored = false
        /// The streak ended for good.
        public var isEnd = false

        public init(_ date: CalendarDate) { self.date = date }
    }

    /// By what the figures of each day change when a streak goes from one state to another: what is for a date counts there, whenever it arrived.
    ///
    /// - Parameters:
    ///   - old: what of the streak is in the figures; nil: nothing.
    ///   - days: what has happened since, in the order of dates.
    ///   - new: the streak now; nil: it does not exist. What no day explains counts from `today`.
    public static func changes(from old: StreakGauge?, by days: [Day], to new: StreakGauge?, today: CalendarDate)
        -> [CalendarDate: [AnalyticsChange]]
    {
        var (changes, known): ([CalendarDate: [AnalyticsChange]], StreakGauge?) = ([:], old)
        func change(to gauge: StreakGauge?, on date: CalendarDate) {
            changes[date, default: []] += Self.changes(from: known, to: gauge)
            known = gauge
        }
        for (index, day) in days.enumerated() {
            if day.isRestored && !day.isBroken {
                // The streak's count without the dates that follow: those that come here, and those that were counted as a run of their own.
                let (own, longest) = (known?.count ?? 0, known?.longest ?? 0)
                let count = max(0, (new?.count ?? 0) - own - days[(index + 1)...].reduce(0) { $0 + $1.extended })
                known = StreakGauge(count: 0, longest: longest)
                for place in 0...own {
                    let date = day.date.advanced(by: place)
                    let counted = Self.changes(from: place.gauge(longest), to: max(0, place - 1).gauge(longest))
                    changes[date, default: []] += counted
                    change(to: (count + place).gauge(longest), on: date)
                }
            } else {
                let count = day.isBroken && !day.isRestored ? 0 : (known?.count ?? 0) + day.extended
                change(to: day.isEnd ? nil : count.gauge(known?.longest ?? 0), on: day.date)
            }
        }
        change(to: new, on: max(today, days.last?.date ?? today))
        return changes
    }

    private struct Part: Hashable {
        let metric: AnalyticsMetric
        let bucket: Int32
    }

    private func parts(_ sign: Int64) -> [Part: Int64] {
        var parts = [Part(metric: .longest, bucket: Self.ranges.last { Int($0) <= longest } ?? 0): sign]
        guard count > 0 else { return parts }
        parts[Part(metric: .running, bucket: 0)] = sign
        parts[Part(metric: .runningSum, bucket: 0)] = sign * Int64(count)
        for (least, metric) in [(7, AnalyticsMetric.runningAt7), (30, .runningAt30), (100, .runningAt100)] where count >= least {
            parts[Part(metric: metric, bucket: 0)] = sign
        }
        return parts
    }
}

extension Int {
    /// A streak with this count, and the longest that it has had until now.
    fileprivate func gauge(_ longest: Int) -> StreakGauge { StreakGauge(count: self, longest: Swift.max(self, longest)) }
}
