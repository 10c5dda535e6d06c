/// At which part of the day completions were made, of those whose time is real: made on their own date, not entered later (HA-16).
public struct HabitTimes: Hashable, Sendable {
    private var counts: [PartOfDay: Int]

    /// Fewer completions say nothing.
    public static let fewest = 7

    public init(_ counts: [PartOfDay: Int] = [:]) { self.counts = counts.filter { $0.value > 0 } }

    public subscript(_ part: PartOfDay) -> Int { counts[part] ?? 0 }

    public var total: Int { counts.values.reduce(0, +) }

    public static func + (left: Self, right: Self) -> Self { Self(left.counts.merging(right.counts, uniquingKeysWith: +)) }

    /// The shares in hundredths, in the order of the parts: rounded so that they come to 100; 0 without completions.
    public var percents: [Int] {
        let total = total
        guard total > 0 else { return PartOfDay.allCases.map { _ in 0 } }
        var percents = PartOfDay.allCases.map { self[$0] * 100 / total }
        let rests = PartOfDay.allCases.map { self[$0] * 100 % total }
        let left = 100 - percents.reduce(0, +)
        for index in rests.indices.sorted(by: { (rests[$1], $0) < (rests[$0], $1) }).prefix(left) { percents[index] += 1 }
        return percents
    }

    /// The part with the most completions; nil with fewer than 7, or when two have as many.
    public var best: PartOfDay? {
        guard total >= Self.fewest, let most = counts.values.max() else { return nil }
        let parts = PartOfDay.allCases.filter { self[$0] == most }
        return parts.count == 1 ? parts[0] : nil
    }

    /// The part with more than half of them: "You usually complete this habit in the morning". nil when none has, or with fewer than 7.
    public var usual: PartOfDay? { best.flatMap { self[$0] * 2 > total ? $0 : nil } }
}

extension PartOfDay {
    /// Its minutes after midnight.
    public var minutes: Range<Int> {
        switch self {
        case .morning: 0..<720
        case .afternoon: 720..<1080
        case .evening: 1080..<1440
        }
    }
}
