/// A version of the tz database as IANA names it: a year and the letter of the release, `2026f`. The later one is greater.
public struct ZoneVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The newest of which this build knows. A process that runs on an older one reports it (`streaksnap_zone_data_release`).
    public static let newestKnown = ZoneVersion(year: 2026, release: 6)

    /// 1990…9999.
    public let year: Int
    /// 1 is `a`, 26 `z`, 27 `za`; at most 52.
    public let release: Int

    private init(year: Int, release: Int) { (self.year, self.release) = (year, release) }

    /// A version from its name; nil for anything else. What a distributor adds after it (`2026f-1`) is left out.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        let digits = bytes.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        let letters = bytes.dropFirst(digits.count).prefix { $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") }
        let rest = bytes.dropFirst(digits.count + letters.count)
        // After z comes za, and so on.
        guard digits.count == 4, let year = Int(String(decoding: digits, as: UTF8.self)), year >= 1990,
            let last = letters.last, letters.count <= 2, letters.count == 1 || letters.first == UInt8(ascii: "z"),
            rest.first.map({ $0 == UInt8(ascii: "-") }) ?? true
        else { return nil }
        self.init(year: year, release: (letters.count - 1) * 26 + Int(last - UInt8(ascii: "a")) + 1)
    }

    /// `2026f`.
    public var description: String {
        "\(year)" + (release > 26 ? "z" : "") + String(UnicodeScalar(UInt8(ascii: "a") + UInt8((release - 1) % 26)))
    }

    /// As a number that metrics can show: 202606 is 2026f.
    public var number: Int { year * 100 + release }

    public static func < (left: ZoneVersion, right: ZoneVersion) -> Bool { left.number < right.number }
}
