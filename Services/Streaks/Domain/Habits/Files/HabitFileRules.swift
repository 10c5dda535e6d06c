import Kernel

/// The limits of what files bring (HA-1, HA-2, HA-19), and how text is made to fit.
public enum HabitFileRules {
    public static let nameLength = 50
    public static let descriptionLength = 200
    public static let noteLength = 100
    public static let dayNoteLength = 500
    public static let unitLength = 20
    public static let categoryLength = 30
    /// Of one file that is read. What the account has room for is asked after it (`HabitBook.requireRoom`).
    public static let mostHabits = 1000
    public static let mostCategories = 100
    public static let mostCompletions = 1_000_000
    public static let longestPause = 90
    /// Versions, pauses or times in the archive of one habit.
    public static let mostSpans = HabitLimits.mostSpans

    /// Without spaces and line ends around it.
    public static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }

    /// What another app took for text, as we take it: without control characters, trimmed, and cut off where it is too long.
    static func fitted(_ text: String, most: Int, isLine: Bool = false) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isEnd = scalar == "\n" || scalar == "\r"
            let turns = (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
            let isControl = scalar.properties.generalCategory == .control && !(isEnd && !isLine)
            scalars.append(turns || isControl || isLine && Character(scalar).isNewline ? " " : scalar)
        }
        var fitted = trimmed(String(scalars))
        while fitted.count > most || fitted.utf8.count > most * 32 {
            fitted = trimmed(String(fitted.prefix(min(most, fitted.count - 1))))
        }
        return fitted
    }

    /// Minutes since midnight of `hh:mm` or `hh:mm:ss`; nil for anything else.
    static func minute(_ text: some StringProtocol) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5 || (bytes.count == 8 && bytes[5] == UInt8(ascii: ":")), bytes[2] == UInt8(ascii: ":") else {
            return nil
        }
        let numbers = stride(from: 0, to: bytes.count, by: 3).map { index -> Int in
            guard (48...57).contains(bytes[index]), (48...57).contains(bytes[index + 1]) else { return 99 }
            return Int(bytes[index] - 48) * 10 + Int(bytes[index + 1] - 48)
        }
        guard numbers[0] < 24, numbers[1] < 60, numbers.dropFirst(2).allSatisfy({ $0 < 61 }) else { return nil }
        return numbers[0] * 60 + numbers[1]
    }
}

extension Amount {
    /// A value in a file: digits with at most 3 places, above 0, at most 10⁹; nil for anything else.
    init?(decimal text: some StringProtocol) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, (1...10).contains(first.utf8.count), first.utf8.allSatisfy({ (48...57).contains($0) }),
            let whole = Int64(first)
        else { return nil }
        var places = parts.count > 1 ? String(parts[1]) : ""
        guard places.utf8.allSatisfy({ (48...57).contains($0) }), parts.count == 1 || !places.isEmpty else { return nil }
        while places.hasSuffix("0") { places.removeLast() }
        guard places.utf8.count <= 3 else { return nil }
        let digits = places + String(repeating: "0", count: 3 - places.utf8.count)
        self.init(thousandths: whole * 1000 + (Int64(digits) ?? 0))
        guard self > .zero, self <= .largest else { return nil }
    }

    /// `1.5`
    var decimal: String { JSONWriter.decimal(thousandths: thousandths) }
}
