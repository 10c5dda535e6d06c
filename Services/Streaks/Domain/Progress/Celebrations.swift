public import Kernel

/// The celebrated counts that a streak has reached (MS-6). Ask it of the fold of a whole ledger: a checkpoint hides the earlier ones.
public struct Celebrations: Hashable, Sendable {
    /// A count that was reached.
    public struct Reached: Hashable, Sendable {
        public let count: Int
        /// The first counted date of the run.
        public let from: CalendarDate
        /// The date that made the count.
        public let on: CalendarDate
    }

    /// Each count once, as it was reached last, the smallest first.
    public let reached: [Reached]

    public init(_ state: StreakState) {
        var latest: [Int: Reached] = [:]
        for case .milestone(let count, let date, let run, _) in state.log {
            latest[count] = Reached(count: count, from: run, on: date)
        }
        reached = latest.values.sorted { $0.count < $1.count }
    }

    /// When `count` was reached; nil when it never was.
    public func reached(_ count: Int) -> Reached? { reached.first { $0.count == count } }
}
