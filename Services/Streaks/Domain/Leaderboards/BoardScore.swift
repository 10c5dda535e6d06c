public import Kernel

/// Where a running streak stands among others of its kind (CI-7): the greater count first, then the greater longest count, then
/// the run that began earlier.
///
/// Eight bytes: a board holds millions of them.
public struct BoardScore: Comparable, Hashable, Sendable {
    /// Count, longest count and the beginning of the run, from the high bits to the low ones. The greater, the better.
    let packed: UInt64

    /// - Parameters:
    ///   - count: at least 1; counts above 65,535 (179 years) rank as 65,535.
    ///   - longest: the longest count ever; at least `count`.
    ///   - runStart: the first counted date of the run; a run without one ranks behind those with one.
    public init(count: Int, longest: Int, runStart: CalendarDate?) {
        let day = runStart.map { UInt32(bitPattern: $0.dayNumber) ^ 0x8000_0000 } ?? .max
        packed =
            UInt64(UInt16(clamping: count)) << 48 | UInt64(UInt16(clamping: max(count, longest))) << 32 | UInt64(UInt32.max - day)
    }

    init(packed: UInt64) { self.packed = packed }

    public var count: Int { Int(packed >> 48) }
    public var longest: Int { Int(packed >> 32 & 0xFFFF) }

    public static func < (left: Self, right: Self) -> Bool { left.packed < right.packed }
}

/// A user's place on a board (CI-7).
public struct BoardStanding: Hashable, Sendable {
    /// 1 for the best; nil for a user without a running streak of at least 1.
    public let rank: Int?
    /// Users on the board.
    public let total: Int

    public init(rank: Int?, total: Int) { (self.rank, self.total) = (rank, total) }

    /// The share of the board that the user is ahead of, in percent with one decimal, rounded half up; nil without a rank.
    public var percentile: Double? {
        guard let rank, total > 0 else { return nil }
        return Double((2_000 * (total - rank) + total) / (2 * total)) / 10
    }
}

/// The mean of the counts of a group's members, those without a streak as 0, with one decimal, rounded half up; 0 for none.
public func averageStreak(_ counts: some Collection<Int>) -> Double {
    guard !counts.isEmpty else { return 0 }
    return Double((20 * counts.reduce(0, +) + counts.count) / (2 * counts.count)) / 10
}
