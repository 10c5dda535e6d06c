/// A set of names that may grow: a client meets a value that a newer server made, keeps it, and can send it back.
///
/// Compare with the static members; a `switch` needs a `default`.
public protocol OpenEnum: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible where RawValue == String {
    /// Any value, also one that this client does not know.
    init(rawValue: String)
}

extension OpenEnum {
    /// Reads a name, or the number of a value whose name the server does not know.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let name = try? container.decode(String.self) {
            self.init(rawValue: name)
        } else {
            self.init(rawValue: String(try container.decode(Int.self)))
        }
    }

    /// Writes the name.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// The name.
    public var description: String { rawValue }
}
