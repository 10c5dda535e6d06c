import Kernel
import StreaksDomain
import Testing

/// What is earned, and what is celebrated (MS-6, MS-7).
@Suite struct AchievementTests {
    let a = Story.a
    let b = Story.b

    private func earned(_ effects: [StreakEffect]) -> [String] {
        Achievement.earned(by: effects, [a, b]).map { "\($0.user == a ? "a" : "b") \($0.achievement.rawValue)" }
    }

    @Test func `The seventh date earns both the first badge, the thirtieth the second, and other milestones nothing`() throws {
        var story = try Story()
        try story.noon(1...6)
        #expect(earned(story.emitted).isEmpty)
        try story.noon(7...7)
        #expect(earned(story.emitted) == ["a 7_day_warrior", "b 7_day_warrior"])
        story.emitted = []
        try story.noon(8...29)
        #expect(!story.keys("milestone").isEmpty && earned(story.emitted).isEmpty)
        try story.noon(30...30)
        #expect(earned(story.emitted) == ["a 30_day_legend", "a 7_day_warrior", "b 30_day_legend", "b 7_day_warrior"])
    }

    @Test func `A recovery token earns its user an achievement, in advance as well, and the partner none`() throws {
        var broken = try Story()
        try broken.noon(1...2)
        try broken.at("2026-05-04T10:00:00Z", .recover(b))
        #expect(earned(broken.emitted) == ["b first_recovery"])
        #expect(tokensSpent(in: broken.emitted) == [b: 1])

        var early = try Story()
        try early.noon(1...2)
        try early.at("2026-05-03T20:00:00Z", .recover(a))
        #expect(earned(early.emitted) == ["a first_recovery"])
        // Both post after all: the token comes back, the badge stays.
        try early.post(a, "2026-05-03T21:00:00Z")
        try early.post(b, "2026-05-03T22:00:00Z")
        #expect(early.keys("token-returned").count == 1)
        #expect(tokensSpent(in: early.emitted).isEmpty)
        #expect(earned(early.emitted) == ["a first_recovery"])
    }

    @Test func `The thirtieth snap inside its window makes a prompt master, once`() {
        #expect((0...100).compactMap { Achievement.earned(byOnTimeSnap: $0) } == [.promptMaster])
        #expect(Achievement.earned(byOnTimeSnap: 30) == .promptMaster)
    }

    @Test func `Progress rises from nothing to the target and no further`() {
        let tallies = [0, 3, 29, 30, 5_000].map { Achievement.Tally(longest: $0, recoveries: $0 > 3 ? 2 : 0, onTimeSnaps: $0) }
        #expect(tallies.map(Achievement.weekWarrior.progress) == [0, 3, 7, 7, 7])
        #expect(tallies.map(Achievement.monthLegend.progress) == [0, 3, 29, 30, 30])
        #expect(tallies.map(Achievement.hundredImmortal.progress) == [0, 3, 29, 30, 100])
        #expect(tallies.map(Achievement.promptMaster.progress) == [0, 3, 29, 30, 30])
        #expect(tallies.map(Achievement.firstRecovery.progress) == [0, 0, 1, 1, 1])
        #expect(Achievement.allCases.map(\.rawValue).joined(separator: " ").contains("100_day_immortal first_recovery"))
    }

    /// Histories in which users rarely miss, so that all badges occur.
    @Test(arguments: 0..<4) func `What is earned only grows, and is what the whole ledger says`(block: Int) {
        var seen: Set<Achievement> = []
        for number in 0..<25 {
            let seed = UInt64(40_000 + block * 100 + number)
            var life = RandomHistory(seed: seed, policy: .mutual, users: 2, isThorough: false)
            var before: Set<Achievement.Grant> = []
            for _ in 0..<4 {
                life.live(days: 30)
                let grants = Set(Achievement.earned(by: Array(life.emitted.values), life.users))
                #expect(before.isSubset(of: grants), "seed \(seed)")
                before = grants
            }
            let ledger = life.whole()
            let state = fold(ledger, .mutual, at: life.now)
            // By hand, from the state and the tokens alone.
            var expected: Set<Achievement.Grant> = []
            for (target, achievement) in [(7, Achievement.weekWarrior), (30, .monthLegend), (100, .hundredImmortal)]
            where state.longest >= target {
                for user in life.users { expected.insert(Achievement.Grant(user, achievement)) }
            }
            for user in ledger.recoveries.compactMap(\.user) { expected.insert(Achievement.Grant(user, .firstRecovery)) }
            #expect(before == expected, "seed \(seed): \(state.longest)")
            seen.formUnion(before.map(\.achievement))
            let spent = tokensSpent(in: Array(life.emitted.values)).values.reduce(0, +)
            #expect(spent == state.tokensInUse, "seed \(seed)")
            checkCelebrations(state, ledger, seed)
        }
        #expect(seen.isSuperset(of: [.weekWarrior, .monthLegend, .firstRecovery]))
    }

    private func checkCelebrations(_ state: StreakState, _ ledger: StreakLedger, _ seed: UInt64) {
        let complete = state.days.filter { $0.value == .complete }.keys.sorted()
        let reached = Celebrations(state).reached
        #expect(
            reached.map(\.count) == (1...200).filter { Milestones.mutual.contains($0) && $0 <= state.longest },
            "seed \(seed)"
        )
        for milestone in reached {
            #expect(milestone.on == complete[milestone.count - 1], "seed \(seed)")
            #expect(milestone.from == complete[0], "seed \(seed)")
        }
    }

    @Test func `What a card says (MC-1)`() {
        #expect(CardParts.dates(day("2026-01-05"), day("2026-03-09")) == "Jan 5 – Mar 9, 2026")
        #expect(CardParts.dates(day("2025-12-30"), day("2026-01-02")) == "Dec 30, 2025 – Jan 2, 2026")
        #expect(CardParts.dates(day("2026-01-05"), day("2026-01-05")) == "Jan 5, 2026")
        #expect(CardParts.dates(nil, nil).isEmpty)
        #expect(CardParts.names(["ada", "ben"]) == "@ada & @ben")
        #expect(CardParts.names(["ada", ""]) == "@ada")
        #expect(CardParts.share(count: 47, friend: "ben") == "🔥 47-day streak with @ben on StreakSnap!")
        #expect(!CardParts.share(count: 0, friend: "").contains("0"))
        #expect(CardParts.styles.map(\.name) == ["orange", "purple", "green", "dark"])
        let colours = CardParts.styles.flatMap { [$0.from, $0.to, $0.text] }
        #expect(colours.allSatisfy { $0.wholeMatch(of: /#[0-9A-F]{6}/) != nil })
    }
}
