/// How long texts of people may be. A character is what a person sees as one, a grapheme cluster (UAX #29): 👨‍👩‍👧‍👦 is one, of seven code
/// points and 25 bytes.
public enum TextLength {
    /// Most bytes of a text of at most so many characters: 32 for each, and 6,400 in all, or 8 for each if that is more. It lets every
    /// writing system and emoji through, and bounds what marks upon marks could make of one character.
    public static func mostBytes(characters: Int) -> Int {
        // A limit that nothing reaches is no limit of bytes either.
        guard characters < Int.max / 32 else { return .max }
        return min(32 * characters, max(6_400, 8 * characters))
    }
}
