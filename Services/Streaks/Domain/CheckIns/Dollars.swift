/// A price in US dollars: a type, because cents are not written behind a point by themselves.
public struct Dollars: Hashable, Sendable, CustomStringConvertible {
    /// At least 0.
    public let cents: Int

    public init(cents: Int) { self.cents = cents }

    /// As JSON has it: `0.99`.
    public var value: Double { Double(cents) / 100 }
    /// With two digits behind the point: `1.29`, `0.05`.
    public var description: String { "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)" }
}
