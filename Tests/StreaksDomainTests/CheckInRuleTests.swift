import Kernel
import StreaksDomain
import TestSupport
import Testing

/// XP, levels, perfect weeks and months, milestones, repairs (CI-3, CI-5, CI-6).
struct CheckInRuleTests {
    private func day(_ text: String) -> CalendarDate { CalendarDate(text) ?? CalendarDate(dayNumber: 0) }

    @Test func `percentages add on base XP and are rounded half up`() {
        #expect(XPRules.checkIn(isPremium: false, isBoosted: false) == 10)
        #expect(XPRules.checkIn(isPremium: true, isBoosted: false) == 13, "12.5")
        #expect(XPRules.checkIn(isPremium: false, isBoosted: true) == 15)
        #expect(XPRules.checkIn(isPremium: true, isBoosted: true) == 18, "17.5")
        for base in 0...200 {
            for percent in 0...100 {
                let exact = Double(base) * Double(percent) / 100
                #expect(XPRules.share(percent, of: base) == Int((exact + 0.5).rounded(.down)), "\(percent) % of \(base)")
            }
        }
    }

    @Test func `a price has two digits behind the point`() {
        let texts = [
            (0, "0.00"), (5, "0.05"), (79, "0.79"), (99, "0.99"), (100, "1.00"), (129, "1.29"), (299, "2.99"), (1_005, "10.05"),
        ]
        for (cents, text) in texts { #expect("\(Dollars(cents: cents))" == text) }
        #expect(RepairRules.price.value == 2.99 && FreezePrices.price(isPremium: false).value == 0.99)
    }

    @Test func `levels begin where the curve says, without gaps`() {
        #expect((1...6).map { XPLevel.start(of: $0) } == [0, 100, 300, 600, 1_000, 1_500])
        var random = Seeded(7)
        for _ in 0..<2_000 {
            let lifetime = Int64(random.next() % 50_000_000)
            let level = XPLevel(lifetime: lifetime)
            #expect(level.from <= lifetime && lifetime < level.nextAt && level.from == XPLevel.start(of: level.number))
        }
        #expect(XPLevel(lifetime: -5).number == 1 && XPLevel(lifetime: .max).number == XPLevel.highest)
    }

    @Test func `a week is perfect with seven check-ins, or fewer when the others are excused`() {
        let monday = day("2026-01-05")
        let week = Set((0..<7).map { monday.advanced(by: $0) })
        let sunday = monday.advanced(by: 6)
        let perfect = PerfectPeriods.completed(by: sunday, checkedIn: week) { _ in false }
        #expect(perfect.map(\.key) == ["perfect_week:2026-01-05"] && perfect.map(\.xp) == [14])
        let wednesday = monday.advanced(by: 2)
        let six = week.subtracting([wednesday])
        #expect(PerfectPeriods.completed(by: sunday, checkedIn: six) { _ in false }.isEmpty)
        #expect(PerfectPeriods.completed(by: sunday, checkedIn: six) { $0 == wednesday }.map(\.xp) == [12])
    }

    @Test func `a month has the dates that it has`() {
        for (first, length) in [("2026-02-01", 28), ("2028-02-01", 29), ("2026-04-01", 30), ("2026-12-01", 31)] {
            let dates = PerfectPeriods.month(of: day(first).advanced(by: 11))
            #expect(dates.lowerBound == day(first) && dates.count == length)
            let all = Set(dates)
            let found = PerfectPeriods.completed(by: dates.upperBound, checkedIn: all) { _ in false }
            #expect(found.first { $0.kind == .month }?.xp == length * 5)
            let without = all.subtracting([dates.lowerBound])
            let missed = PerfectPeriods.completed(by: dates.upperBound, checkedIn: without) { _ in false }
            #expect(!missed.contains { $0.kind == .month })
        }
    }

    @Test func `every milestone of the engine is celebrated, with the freezes that the engine gives`() {
        #expect(CelebratedCheckIn.all.map(\.days) == StreakPolicy.checkIn.milestones.counts)
        for milestone in CelebratedCheckIn.all {
            #expect(milestone.freezes == StreakPolicy.checkIn.freezes?.ofMilestones[milestone.days] ?? 0)
            #expect(milestone.progress(at: milestone.days) == 100 && milestone.progress(at: 0) == 0)
        }
        #expect(CelebratedCheckIn.of(50)?.progress(at: 47) == 94 && CelebratedCheckIn.of(365)?.progress(at: 47) == 12.9)
    }

    @Test func `a repair is refused for the window, the cooldown and the length, in this order`() {
        let broken = Instant(rfc3339: "2026-01-29T08:00:00Z") ?? .epoch
        func reason(_ count: Int, _ hours: Int64, lastRepair: Instant? = nil) -> String? {
            let rules = RepairRules(broken: .init(count: count, at: broken), lastRepair: lastRepair, zone: .utc)
            do throws(ServiceError) {
                try rules.check(receivedAt: broken + .hours(hours))
                return nil
            } catch { return error.reason }
        }
        #expect(reason(7, 24) == nil && reason(6, 24) == "STREAK_TOO_SHORT" && reason(6, 25) == "REPAIR_WINDOW_EXPIRED")
        #expect(reason(6, 1, lastRepair: broken - .days(29)) == "REPAIR_COOLDOWN_ACTIVE")
        #expect(reason(7, 1, lastRepair: broken - .days(30)) == nil)
        #expect(throws: ServiceError.self) { try RepairRules(broken: nil, lastRepair: nil, zone: .utc).check(receivedAt: broken) }
    }

    @Test func `steps count from ten thousand or from the person's own goal`() {
        func isEnough(_ steps: Int32, goal: Int32?) -> Bool {
            TrackedActivity.all(mood: nil, energy: nil, weight: nil, steps: steps, stepsGoal: goal) == [.stepsLog]
        }
        #expect(!isEnough(9_999, goal: nil) && isEnough(10_000, goal: nil) && isEnough(8_000, goal: 8_000))
        #expect(isEnough(10_000, goal: 20_000) && !isEnough(7_999, goal: 8_000))
        #expect(TrackedActivity.all(mood: 3, energy: nil, weight: 70, steps: nil, stepsGoal: nil) == [.weightLog])
    }
}
