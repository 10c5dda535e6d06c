extension Zone {
    /// The longest name that is looked for: those of Windows have 31 bytes.
    private static let longestName = 64

    /// A zone as clients name it (AU-11): what `init(_:)` takes, an alias of CLDR's, IANA's or Windows', or `GMT±hh:mm` as phones write an offset.
    ///
    /// The zone has a name that `init(_:)` takes, whatever was sent: an alias becomes what it means, an offset `±hh:mm`. Abbreviations such as PST
    /// are of several zones each, so they are none.
    ///
    /// - Parameter name: any text from a client.
    /// - Returns: nil when the name is unknown.
    public init?(sent name: String) {
        guard name.utf8.count <= Self.longestName else { return nil }
        // An alias only where this machine's tz database has no such name of its own.
        guard let zone = Zone(name) ?? Self.aliases[name].flatMap({ Zone($0) }) ?? Self.offset(name) else { return nil }
        self = zone
    }

    private static let aliases: [String: String] = {
        let pairs = aliasTable.split(separator: "\n").map { $0.split(separator: "=") }
        return Dictionary(pairs.map { (String($0[0]), String($0[1])) }) { first, _ in first }
    }()

    /// `GMT+03:00`, `GMT+0300` (iOS), `UTC+3`: east of UTC, unlike in `Etc/GMT-3`. The minus may be the typographic one, as in texts for people.
    private static func offset(_ name: String) -> Zone? {
        guard name.hasPrefix("GMT") || name.hasPrefix("UTC"), let sign = name.dropFirst(3).first, "+-\u{2212}".contains(sign)
        else {
            return nil
        }
        let digits = name.dropFirst(4).utf8.filter { $0 != UInt8(ascii: ":") }
        let parts = name.dropFirst(4).split(separator: ":", omittingEmptySubsequences: false).map(\.utf8.count)
        let isForm = [[1], [2], [3], [4], [1, 2], [2, 2]].contains(parts)
        guard isForm, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        let number = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
        let (hours, minutes) = digits.count <= 2 ? (number, 0) : (number / 100, number % 100)
        guard minutes < 60 else { return nil }
        return Zone(offsetMinutes: (hours * 60 + minutes) * (sign == "+" ? 1 : -1))
    }
}
