extension Amount {
    /// Steps for the buttons that add to a value on its way to this target: a tenth, a fifth and a half of it, each rounded down to a round
    /// number, so that a target of 50 gives 5, 10 and 25. A whole target has whole steps.
    public var quickValues: [Amount] {
        guard self > .zero else { return [] }
        let least: Int64 = thousandths % 1000 == 0 ? 1000 : 1
        var steps: [Amount] = []
        for share: Int64 in [10, 5, 2] {
            let step = Amount(thousandths: Self.round(max(thousandths / share, least), least: least))
            if steps.last != step { steps.append(step) }
        }
        return steps
    }

    /// The largest of 1, 2, 2.5 and 5 times a power of ten that is at most `number`, in steps of `least`.
    private static func round(_ number: Int64, least: Int64) -> Int64 {
        var power: Int64 = 1
        while power <= number / 10 { power *= 10 }
        let candidates = [5 * power, 25 * power / 10, 2 * power, power]
        return candidates.first { $0 <= number && $0 % least == 0 } ?? least
    }
}
