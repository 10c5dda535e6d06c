import MediaDomain
import Testing

/// Which pictures are refused by what a moderator sees in them (PL-5).
struct ScreeningRuleTests {
    private let rule = ScreeningRule()

    private func isRejected(_ labels: [ModerationLabel]) -> Bool {
        if case .rejected = rule.verdict(labels) { return true }
        return false
    }

    @Test(arguments: [
        "Explicit Nudity", "Suggestive", "Violence", "Visually Disturbing", "Drugs", "Tobacco", "Alcohol", "Gambling",
        "Hate Symbols",
    ]) func `every standard category is blocked as version 6 names it, with what is below it`(category: String) {
        #expect(isRejected([ModerationLabel(category, 99)]))
        #expect(isRejected([ModerationLabel("Something of it", of: category, 80), ModerationLabel(category, 80)]))
        #expect(isRejected([ModerationLabel("Something of it", of: category, 80)]), "its parent need not be in the reply")
    }

    @Test(arguments: [
        "Explicit", "Non-Explicit Nudity of Intimate parts and Kissing", "Swimwear or Underwear", "Violence",
        "Visually Disturbing",
        "Drugs & Tobacco", "Alcohol", "Gambling", "Hate Symbols",
    ]) func `every standard category is blocked as version 7 names it, two levels below it too`(category: String) {
        let labels = [
            ModerationLabel("Of the third level", of: "Of the second", 91), ModerationLabel("Of the second", of: category, 60),
            ModerationLabel(category, 60),
        ]
        #expect(isRejected(labels))
    }

    @Test func `what is in no blocked category is harmless, however sure`() {
        #expect(rule.verdict([]) == .harmless)
        #expect(
            rule.verdict([ModerationLabel("Middle Finger", of: "Rude Gestures", 99.9), ModerationLabel("Rude Gestures", 99.9)])
                == .harmless
        )
    }

    @Test func `from 75 per cent on it is refused, from 50 on it is reviewed`() {
        for (confidence, expected) in [
            (100.0, "rejected"), (75, "rejected"), (74.999, "doubtful"), (50, "doubtful"), (49.9, "harmless"), (-1, "harmless"),
        ] {
            let label = ModerationLabel("alcohol", confidence)
            let verdict = rule.verdict([label])
            let expected: ScreeningRule.Verdict =
                expected == "rejected" ? .rejected([label]) : expected == "doubtful" ? .doubtful([label]) : .harmless
            #expect(verdict == expected, "\(confidence)")
        }
    }

    @Test func `the surest label decides and comes first, and a flood of labels is cut`() {
        let labels = (0..<200).map { ModerationLabel("Label \($0)", of: "Gambling", 50 + Double($0) / 10) }
        guard case .doubtful(let kept) = rule.verdict(labels) else {
            Issue.record("not doubtful")
            return
        }
        #expect(
            kept.count == 20 && kept.first?.name == "Label 199" && kept.map(\.confidence) == kept.map(\.confidence).sorted(by: >)
        )
        #expect(isRejected(labels + [ModerationLabel("Gambling", 80)]))
    }

    @Test func `categories above each other in a circle come to an end`() {
        let circle = [ModerationLabel("A", of: "B", 99), ModerationLabel("B", of: "C", 99), ModerationLabel("C", of: "A", 99)]
        #expect(rule.verdict(circle) == .harmless)
        #expect(rule.verdict([ModerationLabel("Own", of: "Own", 99)]) == .harmless)
    }

    @Test func `the operator's own list and confidence count, upper and lower case the same`() {
        let own = ScreeningRule(categories: ["rude gestures"], confidence: 90)
        #expect(own.verdict([ModerationLabel("Explicit", 99)]) == .harmless)
        let label = ModerationLabel("Middle Finger", of: "Rude Gestures", 89)
        #expect(own.verdict([label]) == .doubtful([label]))
    }
}
