/// The id of one kind of thing. Ids of different kinds are different types, so that none is given in place of another.
public protocol Identifier: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral,
    TextValue
where RawValue == String {
    /// The id with this text.
    init(rawValue: String)
}

extension Identifier {
    /// The id with this text.
    public init(_ text: String) { self.init(rawValue: text) }
    /// The id with this text.
    public init(stringLiteral value: String) { self.init(rawValue: value) }
    /// nil for an empty text.
    public init?(text: String) {
        guard !text.isEmpty else { return nil }
        self.init(rawValue: text)
    }

    /// Reads the text.
    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// The text.
    public var description: String { rawValue }
}

/// What travels as a text of which the empty one means unset.
public protocol TextValue {
    /// nil for an empty text.
    init?(text: String)
}
