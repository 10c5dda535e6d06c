import Kernel
import TestSupport
import Testing

@testable import Bus

@Suite struct InstanceTableTests {
    private let a = InstanceID(number: 1)
    private let b = InstanceID(number: 2)
    private let c = InstanceID(number: 3)

    private func at(_ milliseconds: UInt64) -> Tick { Tick(nanoseconds: milliseconds * 1_000_000) }

    /// A table with these instances, which all answered at the beginning.
    private func table(_ ids: InstanceID...) -> InstanceTable {
        var table = InstanceTable()
        for id in ids { table.answered(id, now: at(0)) }
        return table
    }

    /// A round in which these answer.
    private func round(_ table: inout InstanceTable, from start: UInt64, answering ids: InstanceID...) -> Bool {
        _ = table.beginRound(now: at(start))
        for id in ids { table.answered(id, now: at(start + 1)) }
        return table.endRound()
    }

    @Test func `requests go to the queue group while none is silent`() {
        var table = table(a, b)
        #expect(table.destination() == nil)
        let isAnyoneSilent = round(&table, from: 100, answering: a, b)
        #expect(!isAnyoneSilent && table.destination() == nil)
    }

    @Test func `an instance that is silent while others answer gets no requests until it answers`() {
        var table = table(a, b, c)
        let isOneSilent = round(&table, from: 100, answering: a, c)
        #expect(isOneSilent)
        let turns = (0..<4).map { _ in table.destination() }
        #expect(Set(turns) == [a, c] && turns[0] == turns[2] && turns[1] == turns[3], "in turn")
        let pinged = table.beginRound(now: at(700))
        #expect(Set(pinged ?? []) == [a, b, c])
        table.answered(b, now: at(710))
        #expect(table.destination() == nil)
        for id in [a, c] { table.answered(id, now: at(720)) }
        let isAnyoneSilent = table.endRound()
        #expect(!isAnyoneSilent)
    }

    @Test func `when none answers none is avoided`() {
        var table = table(a, b)
        let isAnyoneSilent = round(&table, from: 100)
        #expect(!isAnyoneSilent && table.destination() == nil)
    }

    @Test func `an instance that has ended is removed and no longer pinged`() {
        var table = table(a, b)
        let isOneSilent = round(&table, from: 100, answering: a)
        #expect(isOneSilent)
        table.gone(b)
        #expect(table.destination() == nil)
        let isAnyoneSilent = round(&table, from: 700, answering: a)
        #expect(!isAnyoneSilent)
        table.gone(a)
        #expect(!table.knowsAny)
    }

    @Test func `one round at a time`() {
        var table = table(a)
        let pinged = [table.beginRound(now: at(1)), table.beginRound(now: at(2))]
        #expect(pinged == [[a], nil])
        _ = table.endRound()
        let again = table.beginRound(now: at(3))
        #expect(again == [a])
    }

    @Test func `a repeat goes to the instance that answered most recently, but another one`() {
        var table = table(a, b)
        #expect(InstanceTable().mostRecent(except: nil) == nil)
        table.answered(b, now: at(10))
        #expect(table.mostRecent(except: nil) == b)
        #expect(table.mostRecent(except: b) == a)
        let isOneSilent = round(&table, from: 100, answering: b)
        #expect(isOneSilent && table.mostRecent(except: nil) == b, "a is silent")
        #expect(table.mostRecent(except: b) == nil)
    }

    @Test func `a repeat goes to the only known instance after a round, in which others that run would have answered`() {
        var table = table(a, b)
        table.gone(a)
        #expect(table.mostRecent(except: nil) == nil, "an instance that is not known yet may be there")
        let isOneSilent = round(&table, from: 100, answering: b)
        #expect(!isOneSilent && table.destination() == nil)
        #expect(table.mostRecent(except: nil) == b, "one that is frozen and not known may be there")
        #expect(table.mostRecent(except: b) == nil)
        let isNoneLeft = round(&table, from: 700)
        #expect(!isNoneLeft && table.mostRecent(except: nil) == nil)
    }

    @Test func `the table stays small`() {
        var table = InstanceTable()
        for number in 1...UInt64(InstanceTable.mostInstances + 10) { table.answered(InstanceID(number: number), now: at(number)) }
        _ = table.beginRound(now: at(1_000))
        table.answered(InstanceID(number: 200), now: at(1_001))
        let areOthersSilent = table.endRound()
        #expect(areOthersSilent)
        let known = table.beginRound(now: at(2_000))
        #expect(known?.count == InstanceTable.mostInstances && table.losses == InstanceTable.mostInstances + 9)
    }

    /// Whatever happens: requests are sent by name exactly while a silent instance is known beside one that speaks.
    @Test(arguments: 0..<50) func `a silent instance never gets a request by name`(seed: UInt64) {
        var random = Seeded(seed)
        var table = InstanceTable()
        var silent: Set<InstanceID> = []
        var known: [InstanceID: UInt64] = [:]
        var began: UInt64?
        var losses = 0
        for step in UInt64(1)...500 {
            let id = InstanceID(number: .random(in: 1...4, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                table.answered(id, now: at(step))
                known[id] = step
                silent.remove(id)
            case 2 where random.chance(20):
                table.gone(id)
                if known[id] != nil, !silent.contains(id) { losses += 1 }
                known[id] = nil
                silent.remove(id)
            case 3:
                let pinged = table.beginRound(now: at(step))
                if began == nil { #expect(Set(pinged ?? []) == Set(known.keys)) } else { #expect(pinged == nil) }
                began = began ?? step
            case 4:
                if let start = began, known.values.contains(where: { $0 >= start }) {
                    let before = silent.count
                    silent.formUnion(known.filter { $0.value < start }.keys)
                    losses += silent.count - before
                }
                began = nil
                _ = table.endRound()
            default: break
            }
            #expect(table.losses == losses)
            let destination = table.destination()
            let isByName = !silent.isEmpty && silent.count < known.count
            #expect((destination != nil) == isByName)
            if let destination { #expect(!silent.contains(destination) && known[destination] != nil) }
        }
    }
}

@Suite struct RepeatBudgetTests {
    private func at(second: UInt64) -> Tick { Tick(nanoseconds: second * 1_000_000_000) }

    private func takeAll(_ budget: inout RepeatBudget, second: UInt64) -> Int {
        var taken = 0
        while budget.take(now: at(second: second)) { taken += 1 }
        return taken
    }

    @Test func `fifty are always there, and one in twenty of the last minute`() {
        var budget = RepeatBudget()
        #expect(takeAll(&budget, second: 1_000) == 50)
        for second in UInt64(1_000)..<1_060 { for _ in 0..<100 { budget.called(now: at(second: second)) } }
        #expect(takeAll(&budget, second: 1_059) == 250, "300 less those that were taken")
        #expect(takeAll(&budget, second: 1_061) > 0, "the oldest second has passed")
        #expect(takeAll(&budget, second: 2_000) == 50)
    }
}

@Suite struct LatencyHistogramTests {
    @Test func `nothing is known of few calls`() {
        var histogram = LatencyHistogram()
        for _ in 0..<19 { histogram.record(.milliseconds(5)) }
        #expect(histogram.percentile95 == nil)
        histogram.record(.milliseconds(5))
        #expect(histogram.percentile95 != nil)
    }

    /// Against the exact value of the same numbers; a bucket is a quarter wide.
    @Test(arguments: 0..<20) func `the percentile is at most a quarter above the exact one`(seed: UInt64) throws {
        var random = Seeded(seed)
        var histogram = LatencyHistogram()
        let durations = (0..<500).map { _ in Int64.random(in: 1_000...2_000_000, using: &random) }
        for duration in durations { histogram.record(.microseconds(duration)) }
        let exact = durations.sorted()[474]
        let estimate = try #require(histogram.percentile95).microseconds
        #expect((exact...exact + exact / 4 + 1).contains(estimate), "\(estimate) of \(exact)")
    }

    @Test func `what was long ago counts little`() throws {
        var histogram = LatencyHistogram()
        for _ in 0..<1_000 { histogram.record(.seconds(1)) }
        for _ in 0..<20_000 { histogram.record(.milliseconds(2)) }
        #expect(try #require(histogram.percentile95) < .milliseconds(4))
    }
}
