import Testing

/// PH-4 over random lives: posts, zones, midnights to the second, ends and new beginnings.
@Suite struct RevealPropertyTests {
    /// The shortest life among those of some seeds that goes wrong: seed, what is wrong, and every step that leads there.
    private func problem(_ seeds: Range<UInt64>, _ rule: RevealLife.Rule) -> String? {
        var shortest: (seed: UInt64, life: RevealLife)?
        for seed in seeds {
            var life = RevealLife(seed: seed, rule: rule)
            life.live(steps: 60)
            guard life.violation != nil, life.trace.count < shortest?.life.trace.count ?? .max else { continue }
            shortest = (seed, life)
        }
        return shortest.map { seed, life in
            "seed \(seed): \(life.violation ?? "")\n" + life.trace.joined(separator: "\n")
        }
    }

    @Test(arguments: 0..<10) func `a snap shows to who has posted for its date, or when that is over, and no sooner`(
        block: UInt64
    ) {
        if let problem = problem(block * 30..<block * 30 + 30, .real) { Issue.record("\(problem)") }
    }

    @Test(arguments: [RevealLife.Rule.presentDates, .readersClock])
    func `a rule that uses the calendar day of now is caught within sixty lives, and reported in few steps`(
        rule: RevealLife.Rule
    ) throws {
        let problem = try #require(self.problem(0..<60, rule))
        #expect(problem.contains("and may not"), "\(problem)")
        #expect(problem.split(separator: "\n").count < 20, "\(problem)")
    }
}
