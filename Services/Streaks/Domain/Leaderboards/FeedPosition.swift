/// How far the reader of an append-only table has come.
///
/// Positions are given out before their transactions commit, so that a smaller one may appear after a greater one. What was
/// skipped is remembered as a gap, and looked for each time, until every transaction that could have had it has ended. So nothing
/// is missed, and nothing waits for a slow transaction.
public struct FeedPosition: Hashable, Sendable {
    /// Positions that were not there although greater ones were.
    public struct Gap: Hashable, Sendable {
        public let first: Int64
        public let last: Int64
        /// The id that the next transaction would have got when the gap was found: those that may fill it have smaller ones.
        public let before: Int64

        public init(first: Int64, last: Int64, before: Int64) { (self.first, self.last, self.before) = (first, last, before) }
    }

    /// What one snapshot of the database knows of transactions (`pg_current_snapshot`).
    public struct Snapshot: Hashable, Sendable {
        /// The smallest id of a transaction that had not ended.
        public let oldestRunning: Int64
        /// The id that the next transaction would get.
        public let next: Int64

        public init(oldestRunning: Int64, next: Int64) { (self.oldestRunning, self.next) = (oldestRunning, next) }
    }

    /// The greatest position that was read; 0 before the first.
    public private(set) var last: Int64
    public private(set) var gaps: [Gap]

    /// - Parameters:
    ///   - last: the greatest position there is.
    ///   - missing: the positions below it that are not there.
    public init(last: Int64, missing: [ClosedRange<Int64>], _ snapshot: Snapshot) {
        self.last = last
        gaps = missing.map { Gap(first: $0.lowerBound, last: $0.upperBound, before: snapshot.next) }
    }

    /// Takes up what one snapshot showed.
    ///
    /// - Parameters:
    ///   - positions: those found in gaps, and those after `last`, up to some place without any left out.
    ///   - snapshot: the one they were read in.
    public mutating func read(_ positions: [Int64], _ snapshot: Snapshot) {
        let sorted = positions.sorted()
        // The transactions that could fill these have ended, and this snapshot sees all that they left.
        gaps.removeAll { $0.before <= snapshot.oldestRunning }
        for position in sorted where position < last { fill(position) }
        for position in sorted where position > last {
            if position > last + 1 { gaps.append(Gap(first: last + 1, last: position - 1, before: snapshot.next)) }
            last = position
        }
    }

    private mutating func fill(_ position: Int64) {
        guard let index = gaps.firstIndex(where: { $0.first <= position && position <= $0.last }) else { return }
        let gap = gaps.remove(at: index)
        if gap.first < position { gaps.append(Gap(first: gap.first, last: position - 1, before: gap.before)) }
        if position < gap.last { gaps.append(Gap(first: position + 1, last: gap.last, before: gap.before)) }
    }
}
