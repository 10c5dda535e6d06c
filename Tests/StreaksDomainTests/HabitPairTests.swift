import Kernel
import TestSupport
import Testing

@testable import StreaksDomain

/// Habits that go together (HA-4): pairs that are planted are found, and chance, trends, weekdays and holidays make none.
@Suite struct HabitPairTests {
    /// How many of these people see a pair.
    private static func people(_ seeds: Range<UInt64>, _ life: (UInt64) -> Person) -> Int {
        seeds.count { !life($0).pairs.isEmpty }
    }

    @Test func `Two hundred independent habits of ten years make a pair for at most one person in twenty`() {
        let seeds = TestDepth.seeds(quick: 40, full: 400)
        let seen = Self.people(seeds) { seed in
            var person = Person(seed, dates: 3_652)
            for _ in 0..<200 {
                let rate = person.uniform(0.02...0.98)
                person.add { _ in rate }
            }
            return person
        }
        #expect(seen * 20 <= seeds.count, "\(seen) of \(seeds.count)")
    }

    @Test(arguments: [(60, 5), (120, 10), (365, 30), (365, 3)])
    func `Independent habits of a shorter time make none either`(dates: Int, habits: Int) {
        let seeds = TestDepth.seeds(quick: 400, full: 4_000)
        let seen = Self.people(seeds) { seed in
            var person = Person(seed, dates: dates)
            for _ in 0..<habits {
                let rate = person.uniform(0.1...0.9)
                person.add { _ in rate }
            }
            return person
        }
        #expect(seen * 20 <= seeds.count, "\(seen) of \(seeds.count)")
    }

    @Test(arguments: [3.0, 8, 20, 60])
    func `Independent habits that come in runs make none`(length: Double) {
        let seeds = TestDepth.seeds(quick: 100, full: 1_000)
        let seen = Self.people(seeds) { seed in
            var person = Person(seed, dates: 1_461)
            for _ in 0..<12 { person.addRuns(person.uniform(0.2...0.85), length: length) }
            return person
        }
        #expect(seen * 20 <= seeds.count, "\(seen) of \(seeds.count)")
    }

    /// A rate for each date that all habits share.
    private static let shared: [(name: String, rate: @Sendable (Int) -> Double)] = [
        ("a slow trend", { 0.1 + 0.8 * Double($0) / 3_652 }),
        ("a year's trend", { 0.1 + 0.8 * Double($0 % 365) / 365 }),
        ("a season", { $0 % 365 < 182 ? 0.25 : 0.75 }),
        ("weekdays", { $0 % 7 < 5 ? 0.85 : 0.15 }),
        ("a weekday", { $0 % 7 == 2 ? 0.9 : 0.3 }),
    ]

    @Test(arguments: 0..<5, [2, 20])
    func `A trend, a season or a weekday that habits share makes no pair`(which: Int, habits: Int) {
        let seeds = TestDepth.seeds(quick: habits == 2 ? 300 : 60, full: 1_000)
        let seen = Self.people(seeds) { seed in
            var person = Person(seed, dates: 3_652)
            for _ in 0..<habits { person.add(Self.shared[which].rate) }
            return person
        }
        #expect(seen * 20 <= seeds.count, "\(Self.shared[which].name): \(seen) of \(seeds.count)")
    }

    @Test(arguments: [2, 5, 30])
    func `Holidays on which all habits rest make no pair`(habits: Int) {
        let seeds = TestDepth.seeds(quick: 100, full: 1_000)
        let seen = Self.people(seeds) { seed in
            var person = Person(seed, dates: 3_652)
            for _ in 0..<habits {
                let rate = person.uniform(0.5...0.9)
                person.add { _ in rate }
            }
            for year in 0..<10 {
                let start = year * 365 + Int(person.uniform(0...300))
                person.rest(start..<(start + Int(person.uniform(8...25))))
                person.rest((start + 40)..<(start + 50))
            }
            return person
        }
        #expect(seen * 20 <= seeds.count, "\(seen) of \(seeds.count)")
    }

    @Test(arguments: [
        (habits: 2, dates: 90, rate: 0.6, done: 0.9, missed: 0.3), (2, 365, 0.8, 0.95, 0.5), (10, 120, 0.5, 0.9, 0.2),
        (30, 365, 0.4, 0.75, 0.25), (200, 3_652, 0.5, 0.6, 0.45), (200, 1_000, 0.7, 0.9, 0.5), (20, 730, 0.1, 0.7, 0.2),
    ])
    func `A pair that is planted is found, and nothing else`(
        habits: Int,
        dates: Int,
        rate: Double,
        done: Double,
        missed: Double
    ) {
        let seeds = TestDepth.seeds(quick: habits == 200 ? 10 : 60, full: 200)
        var (found, other) = (0, 0)
        for seed in seeds {
            var person = Person(seed, dates: dates)
            person.add { _ in rate }
            person.add(after: 0, done: done, missed: missed)
            for _ in 0..<(habits - 2) {
                let rate = person.uniform(0.2...0.9)
                person.add { _ in rate }
            }
            let pairs = person.pairs
            if pairs.contains(where: { Set([$0.first, $0.second]) == [0, 1] }) { found += 1 }
            if pairs.contains(where: { Set([$0.first, $0.second]) != [0, 1] }) { other += 1 }
        }
        #expect(found * 10 >= seeds.count * 9, "\(found) of \(seeds.count)")
        #expect(other * 20 <= seeds.count, "\(other) of \(seeds.count)")
    }

    @Test func `A planted pair is found among habits that share a trend, a weekday and holidays`() {
        var person = Person(5, dates: 1_000)
        person.add { 0.3 + 0.4 * Double($0) / 1_000 - ($0 % 7 > 4 ? 0.2 : 0) }
        person.add(after: 0, done: 0.9, missed: 0.3)
        for _ in 0..<8 { person.add { 0.3 + 0.4 * Double($0) / 1_000 - ($0 % 7 > 4 ? 0.2 : 0) } }
        for start in [100, 400, 700] { person.rest(start..<(start + 20)) }
        #expect(person.pairs.map { Set([$0.first, $0.second]) } == [[0, 1]])
    }

    @Test func `Support, confidence and lift are those of the dates on which both were due`() throws {
        // 280 dates: A on every second one, B with it but on each tenth date, which is the other way round. B is skipped on each fourteenth.
        let today = CalendarDate(dayNumber: 20_600)
        let (done, missed) = (HabitMark(.done, .done).code, HabitMark(.missed, .missed).code)
        let a = (0..<280).map { ($0 / 7 + $0 % 7) % 2 == 0 ? done : missed }
        var b = a
        for index in 0..<28 { b[index * 10] = a[index * 10] == done ? missed : done }
        let skipped = HabitMark(.skipped, .excused).code
        for index in stride(from: 3, to: 280, by: 14) { b[index] = skipped }
        let first = today.advanced(by: -280)
        let habits = [try #require(HabitMarks(from: first, codes: a)), try #require(HabitMarks(from: first, codes: b))]
        let pair = try #require(HabitPairs(habits, until: today).all().first)
        let (one, other) = (pair.first == 0 ? a : b, pair.first == 0 ? b : a)
        let both = (0..<280).filter { b[$0] != skipped }
        let together = both.count { one[$0] == done && other[$0] == done }
        #expect(pair.dates == both.count && pair.together == together)
        #expect(pair.firstDone == both.count { one[$0] == done } && pair.secondDone == both.count { other[$0] == done })
        #expect(pair.support == Double(together) / Double(both.count))
        #expect(pair.confidence == Double(together) / Double(pair.firstDone) && pair.confidence >= pair.reversed.confidence)
        let lift = pair.confidence / (Double(pair.secondDone) / Double(both.count))
        #expect(abs(pair.lift - lift) < 1e-12 && pair.percentMoreLikely == Int((lift - 1) * 100))
        #expect(abs(pair.reversed.lift - pair.lift) < 1e-12)
    }

    @Test(arguments: TestDepth.seeds(quick: 30, full: 300))
    func `Strata are those of a slow count`(seed: UInt64) throws {
        var random = Seeded(seed)
        let today = CalendarDate(dayNumber: 20_000 + Int32(seed))
        let first = today.advanced(by: -Int.random(in: 1...400, using: &random))
        let days = (0..<2).map { _ in RandomMarks.days(&random, from: first, until: today) }
        let marks = days.map { HabitMarks($0) }
        let dates = first...today.advanced(by: -1)
        let grid = StratumGrid(dates)
        let away = dates.map { _ in random.chance(5) }
        let bits = marks.map { HabitBits($0, dates, grid, without: away) }
        let slow = SlowStrata(marks, dates, away)
        let strata = bits[0].strata(with: bits[1])
        #expect(abs(strata.excess - slow.excess) < 1e-9 && abs(strata.variance - slow.variance) < 1e-9)
        #expect(abs(strata.unbiasedExcess - slow.unbiased) < 1e-9)
        let counts = bits[0].counts(with: bits[1])
        #expect([counts.dates, counts.firstDone, counts.secondDone, counts.together] == slow.counts)
        for (fast, slow) in zip(bits[0].autocorrelations(), slow.autocorrelations) { #expect(abs(Double(fast) - slow) < 1e-4) }
    }

    @Test func `A habit's own pairs are those of all that have it, from its side`() {
        var person = Person(11, dates: 700)
        person.add { _ in 0.5 }
        person.add(after: 0, done: 0.8, missed: 0.3)
        person.add(after: 1, done: 0.9, missed: 0.2)
        for _ in 0..<5 { person.add { _ in 0.6 } }
        let pairs = HabitPairs(person.marks, until: person.today)
        let all = pairs.all()
        #expect(all.count >= 2)
        for place in 0..<8 {
            let own = pairs.of(place)
            let expected = all.filter { $0.first == place || $0.second == place }
            #expect(own.map(\.together).sorted() == expected.map(\.together).sorted())
            #expect(own.allSatisfy { $0.second == place })
            #expect(zip(own, own.dropFirst()).allSatisfy { $0.lift >= $1.lift })
        }
    }

    @Test func `No habits, one, and ones that have just begun make none`() {
        #expect(HabitPairs([], until: day("2026-05-31")).all().isEmpty)
        var person = Person(1, dates: 20)
        person.add { _ in 0.5 }
        #expect(person.pairs.isEmpty && HabitPairs(person.marks, until: person.today).of(0).isEmpty)
        person.add(after: 0, done: 1, missed: 0)
        #expect(person.pairs.isEmpty)
        // All of it lies ahead.
        #expect(HabitPairs(person.marks, until: person.today.advanced(by: -30)).all().isEmpty)
    }

    @Test func `The logarithm is right to the last digits`() {
        for (number, expected) in [(1.0, 0), (2, 0.6931471805599453), (10, 2.302585092994046), (0.05 / 19_900, -12.8942072843)] {
            #expect(abs(naturalLogarithm(number) - expected) < 1e-6)
        }
        #expect(abs(naturalLogarithm(1000) - AwayDates.surprise) < 1e-14)
    }
}
