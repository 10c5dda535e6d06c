public import Kernel

/// The numbers of all streaks of one user.
public struct StreakTotals: Hashable, Sendable {
    /// One streak as it stands.
    public struct Record: Hashable, Sendable {
        public let status: StreakState.Status
        public let count: Int
        public let longest: Int
        /// Who missed, while it is broken (MS-3).
        public let brokenBy: UserID?

        public init(status: StreakState.Status, count: Int, longest: Int, brokenBy: UserID?) {
            self.status = status
            self.count = count
            self.longest = longest
            self.brokenBy = brokenBy
        }
    }

    /// Streaks ever begun.
    public private(set) var total = 0
    public private(set) var active = 0
    public private(set) var longest = 0
    /// The longest count of one that runs.
    public private(set) var longestActive = 0
    /// Dates completed, added up. A mutual streak has one run, so its count is all of them.
    public private(set) var completedDates = 0
    /// Those that broke.
    public private(set) var broken: Int
    /// Those of them that the user alone broke.
    public private(set) var brokenByYou: Int

    /// - Parameters:
    ///   - records: every streak of `user`.
    ///   - endedBreaks: how many of those that have ended had broken before, in all and by the user alone.
    public init(of user: UserID, _ records: [Record], endedBreaks: (all: Int, byYou: Int) = (0, 0)) {
        (broken, brokenByYou) = endedBreaks
        for record in records {
            total += 1
            longest = max(longest, record.longest, record.count)
            completedDates += record.count
            switch record.status {
            case .active:
                active += 1
                longestActive = max(longestActive, record.count)
            case .broken:
                broken += 1
                brokenByYou += record.brokenBy == user ? 1 : 0
            case .ended: break
            }
        }
    }
}

/// How many dates each weekday has.
public struct Weekdays: Hashable, Sendable {
    /// Seven, from Monday.
    public let counts: [Int]
    public var total: Int { counts.reduce(0, +) }
    /// The weekday with the most, 1 = Monday … 7 = Sunday, the first of several; nil without any.
    public var best: Int? {
        guard let most = counts.max(), most > 0 else { return nil }
        return counts.firstIndex(of: most).map { $0 + 1 }
    }

    /// - Parameter known: by ISO weekday; what is absent is 0.
    public init(_ known: [Int: Int]) { counts = (1...7).map { known[$0] ?? 0 } }
}

/// A share in whole percent, rounded down; nil of nothing.
public func percent(_ part: Int, of whole: Int) -> Int? {
    whole > 0 ? min(max(part, 0), whole) * 100 / whole : nil
}

extension StreakChange {
    /// A streak that ended broken; nil when it did not end, or ran until then.
    public struct EndedBreak: Hashable, Sendable {
        /// Who missed; nil when both did.
        public let by: UserID?
    }

    public var endedBreak: EndedBreak? {
        let hasEnded = effects.contains { effect in
            if case .ended = effect { return true }
            return false
        }
        guard hasEnded else { return nil }
        // The break may have been settled in the same step that ended it.
        for case .broken(_, _, let user, _) in effects.reversed() { return EndedBreak(by: user) }
        return before.status == .broken ? EndedBreak(by: before.brokenBy) : nil
    }
}
