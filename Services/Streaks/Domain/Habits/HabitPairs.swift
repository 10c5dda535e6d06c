public import Kernel

/// Two habits that are done on the same dates more often than chance makes it.
///
/// All figures are of the dates on which both could be done (HA-4): due, or of a weekly habit any, and over; without those on which the person
/// was away (`AwayDates`).
public struct HabitPair: Hashable, Sendable {
    /// The places of the habits. `first` is the one whose completion says more about the other: of the two confidences the higher.
    public var first: Int
    public var second: Int
    /// Dates on which both could be done.
    public var dates: Int
    /// Of those: the first, the second and both are done.
    public var firstDone: Int
    public var secondDone: Int
    public var together: Int

    public init(first: Int, second: Int, dates: Int, firstDone: Int, secondDone: Int, together: Int) {
        (self.first, self.second, self.dates) = (first, second, dates)
        (self.firstDone, self.secondDone, self.together) = (firstDone, secondDone, together)
    }

    /// The share of the dates on which both are done.
    public var support: Double { Double(together) / Double(dates) }
    /// The share of the first one's dates on which the second is done too.
    public var confidence: Double { Double(together) / Double(firstDone) }
    /// `confidence` against the second one's share of all dates; the same in both directions.
    public var lift: Double { confidence * Double(dates) / Double(secondDone) }
    /// "When you complete the first, you are so many % more likely to complete the second": lift − 1, rounded down.
    public var percentMoreLikely: Int { (together * dates - firstDone * secondDone) * 100 / (firstDone * secondDone) }

    /// The same pair from the other habit's side.
    public var reversed: Self {
        Self(first: second, second: first, dates: dates, firstDone: secondDone, secondDone: firstDone, together: together)
    }
}

/// Finds the pairs of habits that go together, and keeps chance out.
///
/// **The question.** Within a stratum, the four dates of one weekday in four weeks, are the two habits done on the same dates more often than
/// if they did not know of each other? A weekday, a season or a trend that both share is the same for all dates of a stratum and so makes no
/// pair. With n dates, a and b of them done, chance lets ab/n fall together, with the variance ab(n−a)(n−b)/(n²(n−1)) (Cochran, Mantel and
/// Haenszel). T is the sum over the strata of what exceeds it, V the sum of the variances.
///
/// **Habits come in runs**, so that dates are no independent trials. V is multiplied by 1 + 2 Σ r₁(l) r₂(l), at least by 1, with each habit's
/// autocorrelation r(l) inside its strata at the lags l of 1…13 dates but 7 (Bartlett).
///
/// **The test.** Together dates of a stratum are a sum of independent trials, so the chance of T is at most e^(−V h(T/V)) with h(u) =
/// (1 + u) ln(1 + u) − u (Bennett): a bound that holds for few dates too, where normal tables do not. It must be at most 0.05 divided by the
/// number of pairs that the person's habits make (Bonferroni): so at most one person in twenty sees a pair that is none.
///
/// **The size.** Both could be done on 56 dates or more, each was done on 10 and together on 10, the lift is 1.05 or more, and at least half
/// of its excess is left inside the strata.
public struct HabitPairs: Sendable {
    /// Dates on which both could be done.
    public static let fewestDates = 56
    /// Dates on which each is done, and both.
    public static let fewestDone = 10
    /// Dates on which each could be done and was not: what is always done goes with everything.
    public static let fewestMissed = 5
    public static let leastLift = 1.05
    /// The most persons of a hundred that see a pair which is none, over all their pairs.
    public static let errorPercent = 5.0
    /// How many dates it looks back: ten years.
    public static let reach = 3_653

    private let bits: [HabitBits]
    /// The places of the habits with enough dates.
    private let candidates: [Int]
    /// What ln of the bound must not exceed.
    private let limit: Double

    /// - Parameter today: only the dates before it are judged: it is not over.
    public init(_ habits: [HabitMarks], until today: CalendarDate) {
        let first = habits.lazy.filter { !$0.codes.isEmpty }.map(\.first).min() ?? today
        let last = today.advanced(by: -1)
        let dates = min(last, max(first, today.advanced(by: -Self.reach)))...last
        let grid = StratumGrid(dates)
        let away = AwayDates.flags(habits, dates)
        let bits = habits.map { HabitBits($0, dates, grid, without: away) }
        self.bits = bits
        candidates = bits.indices.filter { place in
            let habit = bits[place]
            return habit.dates >= Self.fewestDates && habit.doneDates >= Self.fewestDone
                && habit.dates - habit.doneDates >= Self.fewestMissed
        }
        let pairs = candidates.count * (candidates.count - 1) / 2
        limit = naturalLogarithm(Self.errorPercent / 100 / Double(max(1, pairs)))
    }

    /// All pairs, the highest lift first.
    public func all() -> [HabitPair] {
        var cache = RunCache(bits.count)
        var pairs: [HabitPair] = []
        for (index, one) in candidates.enumerated() {
            for other in candidates[(index + 1)...] {
                if let pair = pair(one, other, &cache) { pairs.append(pair) }
            }
        }
        return pairs.sorted(by: Self.precedes)
    }

    /// Those of one habit, as its second.
    public func of(_ place: Int) -> [HabitPair] {
        guard candidates.contains(place) else { return [] }
        var cache = RunCache(bits.count)
        return candidates.compactMap { other in
            guard other != place else { return nil }
            return pair(min(other, place), max(other, place), &cache).map { $0.second == place ? $0 : $0.reversed }
        }
        .sorted(by: Self.precedes)
    }

    private static func precedes(_ one: HabitPair, _ other: HabitPair) -> Bool {
        (other.lift, other.together, one.first, one.second) < (one.lift, one.together, other.first, other.second)
    }

    /// Autocorrelations, once for each habit that needs them.
    private struct RunCache {
        var lags: [[Float]?]
        init(_ count: Int) { lags = Array(repeating: nil, count: count) }
    }

    private func pair(_ one: Int, _ other: Int, _ cache: inout RunCache) -> HabitPair? {
        let (left, right) = (bits[one], bits[other])
        var pair = left.counts(with: right)
        guard pair.dates >= Self.fewestDates, pair.together >= Self.fewestDone, pair.lift >= Self.leastLift else { return nil }
        let strata = left.strata(with: right)
        let pooled = Double(pair.together) - Double(pair.firstDone) * Double(pair.secondDone) / Double(pair.dates)
        guard strata.variance > 0, strata.excess > 0, strata.unbiasedExcess * 2 >= pooled else { return nil }
        for place in [one, other] where cache.lags[place] == nil { cache.lags[place] = bits[place].autocorrelations() }
        guard let these = cache.lags[one], let those = cache.lags[other] else { return nil }
        let runs = 1 + 2 * zip(these, those).reduce(0) { $0 + Double($1.0 * $1.1) }
        guard Self.bound(strata.excess, strata.variance * max(1, runs)) <= limit else { return nil }
        (pair.first, pair.second) = (one, other)
        return pair.firstDone <= pair.secondDone ? pair : pair.reversed
    }

    /// ln of Bennett's bound.
    static func bound(_ excess: Double, _ variance: Double) -> Double {
        let share = excess / variance
        return -variance * ((1 + share) * naturalLogarithm(1 + share) - share)
    }
}

/// ln of a number above 0.
func naturalLogarithm(_ number: Double) -> Double {
    // The significand is 1…2; the series of 2 artanh(z) with z ≤ 1/3 has 1e-16 after 17 terms.
    let z = (number.significand - 1) / (number.significand + 1)
    var (sum, power) = (0.0, z)
    for odd in stride(from: 1.0, through: 33, by: 2) {
        sum += power / odd
        power *= z * z
    }
    return 2 * sum + Double(number.exponent) * 0.693_147_180_559_945_3
}
