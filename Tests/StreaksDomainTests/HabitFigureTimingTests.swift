import Glibc
import Kernel
import StreaksDomain
import Testing

/// How long the largest accounts take, in processor time.
@Suite struct HabitFigureTimingTests {
    @Test func `Two hundred habits of ten years take less than a fifth of a second, also when all share a trend`() {
        for rate in [{ _ in 0.5 }, { 0.1 + 0.8 * Double($0) / 3_652 }] as [(Int) -> Double] {
            var person = Person(3, dates: 3_652)
            for _ in 0..<200 { person.add(rate) }
            let marks = person.marks
            let spent = (0..<5).map { _ in
                let before = secondsOfThisThread()
                #expect(HabitPairs(marks, until: person.today).all().count < 3)
                return secondsOfThisThread() - before
            }
            #expect((spent.min() ?? 1) < 0.2, "\(spent)")
        }
    }

    @Test func `Ten years of fifty habits take a fraction of the budget`() {
        var person = Person(1, dates: 3_652)
        for _ in 0..<50 { person.add { _ in 0.7 } }
        let marks = person.marks
        let spent = (0..<5).map { _ in
            let before = secondsOfThisThread()
            var figures = HabitFigures(.allTime, until: person.today, since: marks[0].first)
            for habit in marks { figures.add(habit) }
            #expect(figures.total.rate.counted == 50 * 3_652)
            return secondsOfThisThread() - before
        }
        #expect((spent.min() ?? 1) < 0.05, "\(spent)")
    }
}

/// The processor time that this thread has had, so that neighbours do not count.
func secondsOfThisThread() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
