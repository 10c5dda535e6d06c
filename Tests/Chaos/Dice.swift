/// Chance that a seed repeats (SplitMix64).
struct Dice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// - Parameter parts: other parts, other chances.
    init(_ parts: Int...) {
        state = parts.reduce(0x9E37_79B9_7F4A_7C15) { state, part in
            var dice = Dice(state: state ^ UInt64(truncatingIfNeeded: part))
            return dice.next()
        }
    }

    private init(state: UInt64) { self.state = state }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
