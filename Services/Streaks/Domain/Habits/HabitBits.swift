import Kernel

/// Where the dates of a habit lie among its bits: the four dates of a weekday in four weeks side by side, so that a stratum is four bits and a
/// word has sixteen strata.
struct StratumGrid: Sendable {
    /// Dates of a block: four weeks.
    static let block = 28

    /// The first date of the first block.
    let origin: CalendarDate
    let blocks: Int

    init(_ dates: ClosedRange<CalendarDate>) {
        origin = dates.lowerBound
        blocks = (dates.count + Self.block - 1) / Self.block
    }

    var words: Int { (blocks * Self.block + 63) / 64 }

    /// The bit of a date, by its distance from the origin.
    static func bit(_ offset: Int) -> Int {
        let (block, inside) = offset.quotientAndRemainder(dividingBy: block)
        return block * Self.block + inside % 7 * 4 + inside / 7
    }
}

/// A habit as bits: on which dates it could be done, and on which it was.
struct HabitBits: Sendable {
    private let grid: StratumGrid
    private var could: [UInt64]
    private var done: [UInt64]

    /// - Parameter away: for each date of `dates` whether it is left out.
    init(_ marks: HabitMarks, _ dates: ClosedRange<CalendarDate>, _ grid: StratumGrid, without away: [Bool]) {
        self.grid = grid
        let table = MarkTable.all
        var (could, done) = ([UInt64](repeating: 0, count: grid.words), [UInt64](repeating: 0, count: grid.words))
        let shift = dates.lowerBound.distance(to: marks.first)
        for index in marks.indices(dates) {
            let code = Int(marks.codes[index])
            guard table.couldBeDone[code], !away[index + shift] else { continue }
            let bit = StratumGrid.bit(index + shift)
            could[bit >> 6] |= 1 << UInt64(bit & 63)
            if table.isDone[code] { done[bit >> 6] |= 1 << UInt64(bit & 63) }
        }
        (self.could, self.done) = (could, done)
    }

    var dates: Int { could.reduce(0) { $0 + $1.nonzeroBitCount } }
    var doneDates: Int { done.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// The dates on which both could be done.
    func counts(with other: HabitBits) -> HabitPair {
        var pair = HabitPair(first: 0, second: 1, dates: 0, firstDone: 0, secondDone: 0, together: 0)
        for word in could.indices {
            pair.dates += (could[word] & other.could[word]).nonzeroBitCount
            pair.firstDone += (done[word] & other.could[word]).nonzeroBitCount
            pair.secondDone += (could[word] & other.done[word]).nonzeroBitCount
            pair.together += (done[word] & other.done[word]).nonzeroBitCount
        }
        return pair
    }

    /// Sums over the strata of two habits.
    struct Strata: Hashable, Sendable {
        /// Dates together beyond what chance makes of each stratum.
        var excess = 0.0
        var variance = 0.0
        /// The excess with each stratum times n/(n−1): what it would be if chance were known and not taken from the same few dates.
        var unbiasedExcess = 0.0
    }

    func strata(with other: HabitBits) -> Strata {
        StratumTable.all.rows.withUnsafeBufferPointer { rows in
            var (sums, together, unbiased) = (SIMD4<Double>.zero, 0, 0.0)
            for word in could.indices {
                let both = could[word] & other.could[word]
                guard both != 0 else { continue }
                let mine = done[word] & both
                let (dates, ones, others) = (Self.counts(both), Self.counts(mine), Self.counts(other.done[word] & both))
                let common = Self.counts(mine & other.done[word])
                together += (mine & other.done[word]).nonzeroBitCount
                for shift in stride(from: UInt64(0), to: 64, by: 4) {
                    let n = Int(dates >> shift & 15)
                    let row = rows[(n * 5 + Int(ones >> shift & 15)) * 5 + Int(others >> shift & 15)]
                    sums += row
                    unbiased += row.w * Double(common >> shift & 15)
                }
            }
            return Strata(excess: Double(together) - sums.x, variance: sums.y, unbiasedExcess: unbiased - sums.z)
        }
    }

    /// How many bits each stratum has, in its four bits.
    private static func counts(_ word: UInt64) -> UInt64 {
        let pairs = word &- (word >> 1 & 0x5555_5555_5555_5555)
        return (pairs & 0x3333_3333_3333_3333) &+ (pairs >> 2 & 0x3333_3333_3333_3333)
    }

    /// The lags of 1…13 dates but 7: inside a stratum dates are exchanged by the test itself.
    static let lags = (1...13).filter { $0 != 7 }

    /// How much a date says about one so many dates later, inside the strata.
    func autocorrelations() -> [Float] {
        let rest = residuals()
        let total = rest.reduce(0) { $0 + $1 * $1 }
        guard total > 0 else { return Self.lags.map { _ in 0 } }
        return rest.withUnsafeBufferPointer { rest in
            Self.lags.map { lag in
                guard lag < rest.count else { return 0 }
                var sum: Float = 0
                for index in 0..<(rest.count - lag) { sum += rest[index] * rest[index + lag] }
                return sum / total
            }
        }
    }

    /// Of each date in order: done or not, less the mean of its stratum; 0 where it could not be done.
    private func residuals() -> [Float] {
        var rest = [Float](repeating: 0, count: grid.blocks * StratumGrid.block)
        for stratum in 0..<(grid.blocks * 7) {
            let (word, shift) = (stratum / 16, UInt64(stratum % 16 * 4))
            let (could, done) = (could[word] >> shift & 15, done[word] >> shift & 15)
            guard could != 0 else { continue }
            let mean = Float(done.nonzeroBitCount) / Float(could.nonzeroBitCount)
            for week in 0..<4 where could >> UInt64(week) & 1 == 1 {
                let date = stratum / 7 * StratumGrid.block + week * 7 + stratum % 7
                rest[date] = (done >> UInt64(week) & 1 == 1 ? 1 : 0) - mean
            }
        }
        return rest
    }
}

/// What chance makes of a stratum of n dates with a and b of them done, at (5n + a)·5 + b.
private struct StratumTable: Sendable {
    /// Expected together; the variance; the expected one times n/(n−1); n/(n−1). Where a or b is 0 or n, chance leaves nothing open: with the
    /// factor 1 what is together and what is expected cancel out there.
    var rows = [SIMD4<Double>](repeating: .zero, count: 125)

    static let all = Self()

    private init() {
        for n in 1...4 {
            for a in 0...n {
                for b in 0...n {
                    let expected = Double(a * b) / Double(n)
                    let isOpen = a > 0 && a < n && b > 0 && b < n
                    let variance = isOpen ? Double(a * (n - a) * b * (n - b)) / Double(n * n * (n - 1)) : 0
                    let factor = isOpen ? Double(n) / Double(n - 1) : 1
                    rows[(n * 5 + a) * 5 + b] = SIMD4(expected, variance, expected * factor, factor)
                }
            }
        }
    }
}
