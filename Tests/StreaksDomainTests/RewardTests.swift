import Kernel
import TestSupport
import Testing

@testable import StreaksDomain

/// What check-in counts earn and open, and what others see of it (CI-5).
@Suite struct RewardTests {
    @Test func `the badges are those of the table`() {
        let counts = Badge.allCases.compactMap(\.count)
        #expect(counts == [1, 3, 7, 14, 21, 30, 42, 50, 60, 90, 100, 180, 270, 365, 500, 730])
        #expect(Badge.allCases.count == 22)
        #expect(Set(Badge.allCases.map(\.rawValue)).count == 22)
        #expect(Set(Badge.allCases.map(\.title)).count == 22)
        // The names that milestones show.
        #expect(Milestones.checkIn.counts.allSatisfy { count in Badge.allCases.contains { $0.count == count } })
        #expect(Badge.halfwayHero.title == "Halfway to 100" && Badge.halfwayHero.rawValue == "halfway_hero")
        #expect(Badge.freshStart.tier == "starter" && Badge.monthlyMaster.tier == "intermediate")
        #expect(Badge.ninetyDayLegend.tier == "advanced" && Badge.eliteStatus.tier == "expert")
        #expect(Badge.annualLegend.tier == "legendary" && Badge.investor.tier == "special")
    }

    @Test(arguments: 0..<50) func `however a count grows, each badge and unlock is earned once`(seed: UInt64) {
        var random = Seeded(seed)
        var (longest, badges, unlocks) = (0, [Badge](), [Unlock]())
        while longest < 800 {
            let next = longest + Int.random(in: 0...60, using: &random)
            badges += Badge.earned(from: longest, to: next)
            unlocks += Unlock.earned(from: longest, to: next)
            longest = next
        }
        #expect(badges == Badge.allCases.filter { $0.count != nil })
        #expect(unlocks.count == Unlock.allCases.count && Set(unlocks).count == unlocks.count)
        #expect(Badge.earned(from: 50, to: 50).isEmpty && Badge.earned(from: 50, to: 7).isEmpty)
    }

    @Test func `progress ends at the target`() {
        var done = Badge.Progress()
        (done.longest, done.freezesUsed, done.freezesBought, done.longFriendStreaks) = (47, 3, 30, 4)
        done.runWithoutFreeze = 47
        #expect(Badge.halfwayHero.progress(done) == 47 && Badge.weekWarrior.progress(done) == 7)
        #expect(Badge.iceWarrior.progress(done) == 3 && Badge.investor.progress(done) == 25)
        #expect(Badge.socialButterfly.progress(done) == 4 && Badge.consistency.progress(done) == 47)
        #expect(Badge.perfectMonth.progress(done) == 0 && Badge.secondChance.target == 1)
    }

    @Test func `the flame is the best that was earned, unless another was chosen; premium wears any`() {
        func flame(_ earned: Set<Unlock>, _ chosen: PublicRewards.Flame? = nil, premium: Bool = false) -> PublicRewards.Flame {
            PublicRewards(badges: [], .init(earned: earned, flame: chosen, isPremium: premium)).flame
        }
        #expect(flame([]) == .orange)
        #expect(flame([.goldFlame]) == .gold)
        #expect(flame([.goldFlame, .diamondFlame, .rainbowFlame]) == .rainbow)
        #expect(flame([.goldFlame, .diamondFlame], .gold) == .gold)
        #expect(flame([.goldFlame], .rainbow) == .gold)
        #expect(flame([], .rainbow, premium: true) == .rainbow)
        #expect(flame([], premium: true) == .orange)
    }

    @Test func `what is switched off is not shown`() {
        let all = Set(Unlock.allCases)
        let shown = PublicRewards(badges: [.weekWarrior, .annualLegend, .iceWarrior], .init(earned: all))
        #expect(shown.badge == .annualLegend)
        #expect(shown.titles == [.superstar, .hundredClub, .hallOfFame])
        #expect(shown.hasCrown && shown.hasGoldFrame)
        let hidden = PublicRewards(badges: [], .init(earned: all, off: [.crown, .goldFrame, .superstar, .hallOfFame]))
        #expect(hidden.badge == nil && hidden.titles == [.hundredClub] && !hidden.hasCrown && !hidden.hasGoldFrame)
    }
}
