import Foundation

/// The name of a member.
struct JSONKey: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init(stringLiteral value: String) { stringValue = value }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// A JSON object that is read. A member that is missing or null is unset, so that client and server may be of different releases.
struct JSONObject {
    private let container: KeyedDecodingContainer<JSONKey>

    init(_ decoder: any Decoder) throws { container = try decoder.container(keyedBy: JSONKey.self) }

    /// A member that must be there. An object that is missing counts as an empty one: an older server does not know it yet.
    func value<Value: Decodable>(_ key: JSONKey) throws -> Value {
        if let value = try container.decodeIfPresent(Value.self, forKey: key) { return value }
        guard let empty = try? JSONDecoder().decode(Value.self, from: Data("{}".utf8)) else {
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(codingPath: container.codingPath, debugDescription: "it is missing")
            )
        }
        return empty
    }

    func value<Value: Decodable>(_ key: JSONKey, as type: Value.Type) throws -> Value { try value(key) }

    func value<Value: Decodable>(_ key: JSONKey, or zero: Value) throws -> Value {
        try container.decodeIfPresent(Value.self, forKey: key) ?? zero
    }

    func optional<Value: Decodable>(_ key: JSONKey) throws -> Value? { try container.decodeIfPresent(Value.self, forKey: key) }

    /// A text of which the empty one means unset.
    func text<Value: Decodable & TextValue>(_ key: JSONKey) throws -> Value? {
        guard let text = try container.decodeIfPresent(String.self, forKey: key), !text.isEmpty else { return nil }
        return try container.decode(Value.self, forKey: key)
    }

    func value(_ key: JSONKey) throws -> Date {
        let text = try container.decode(String.self, forKey: key)
        guard let date = Timestamp.date(text) else {
            throw DecodingError.dataCorruptedError(
                forKey: key,
                in: container,
                debugDescription: "not an instant: \(text.prefix(40))"
            )
        }
        return date
    }

    func optional(_ key: JSONKey) throws -> Date? {
        guard let text: String = try optional(key), !text.isEmpty else { return nil }
        // With its type: `value` could also read an optional.
        let date: Date = try value(key)
        return date
    }

    func value(_ key: JSONKey, or zero: [Date]) throws -> [Date] {
        try (value(key, or: [String]())).map { text in
            guard let date = Timestamp.date(text) else {
                throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "not an instant")
            }
            return date
        }
    }
}

/// A JSON object that is written. What is unset, or zero where zero means unset, is left out.
struct JSONWriter {
    private var container: KeyedEncodingContainer<JSONKey>

    init(_ encoder: any Encoder) { container = encoder.container(keyedBy: JSONKey.self) }

    mutating func put<Value: Encodable>(_ key: JSONKey, _ value: Value?) throws {
        try container.encodeIfPresent(value, forKey: key)
    }

    mutating func put<Value: Encodable>(_ key: JSONKey, _ value: Value) throws { try container.encode(value, forKey: key) }

    mutating func put<Value: OpenEnum>(_ key: JSONKey, _ value: Value) throws {
        if value.rawValue != "unspecified" { try container.encode(value, forKey: key) }
    }

    mutating func put<Value: Encodable & AdditiveArithmetic>(_ key: JSONKey, _ value: Value) throws {
        if value != .zero { try container.encode(value, forKey: key) }
    }

    mutating func put(_ key: JSONKey, _ value: Bool) throws { if value { try container.encode(value, forKey: key) } }

    mutating func put(_ key: JSONKey, _ value: String) throws { if !value.isEmpty { try container.encode(value, forKey: key) } }

    mutating func put<Value: Encodable>(_ key: JSONKey, _ value: [Value]) throws {
        if !value.isEmpty { try container.encode(value, forKey: key) }
    }

    mutating func put<Value: Encodable>(_ key: JSONKey, _ value: [String: Value]) throws {
        if !value.isEmpty { try container.encode(value, forKey: key) }
    }

    mutating func put(_ key: JSONKey, _ value: Date) throws { try container.encode(Timestamp.text(value), forKey: key) }

    mutating func put(_ key: JSONKey, _ value: Date?) throws {
        try container.encodeIfPresent(value.map(Timestamp.text), forKey: key)
    }

    mutating func put(_ key: JSONKey, _ value: [Date]) throws {
        if !value.isEmpty { try container.encode(value.map(Timestamp.text), forKey: key) }
    }
}

/// Holds a value of a type that may contain itself.
public final class Indirect<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    /// The value.
    public let value: Value

    /// Holds `value`.
    public init(_ value: Value) { self.value = value }

    /// Reads the value itself.
    public init(from decoder: any Decoder) throws { value = try Value(from: decoder) }

    /// Writes the value itself.
    public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }

    /// Whether the values are equal.
    public static func == (left: Indirect, right: Indirect) -> Bool { left.value == right.value }

    /// Hashes the value.
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// A reply of which parts lie beside `data` (PF-1).
protocol LiftedReply: Sendable {
    mutating func lift(_ json: JSONObject) throws
}

/// A reply that brings tokens.
protocol TokenReply {
    var tokens: (access: String, refresh: String?, expiresIn: Int) { get }
}
