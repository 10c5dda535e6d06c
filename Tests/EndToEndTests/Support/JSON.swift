import Foundation

/// Any JSON, for looking at replies.
enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// - Throws: `JSONReader.Malformed` for what is not one JSON value by RFC 8259.
    init(_ bytes: [UInt8]) throws {
        self = try JSONReader.value(of: bytes)
    }

    /// The member, or `null` when there is none.
    subscript(_ name: String) -> JSON {
        if case .object(let members) = self { members[name] ?? .null } else { .null }
    }

    /// The element, or `null` when there is none.
    subscript(_ index: Int) -> JSON {
        list.indices.contains(index) ? list[index] : .null
    }

    var string: String? { if case .string(let value) = self { value } else { nil } }
    var number: Double? { if case .number(let value) = self { value } else { nil } }
    var int: Int? { number.flatMap { Int(exactly: $0) } }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    var list: [JSON] { if case .array(let values) = self { values } else { [] } }
    var names: Set<String> { if case .object(let members) = self { Set(members.keys) } else { [] } }
    var isNull: Bool { self == .null }
}

/// A JSON string with its quotes.
func quoted(_ text: String) -> String {
    String(decoding: (try? JSONEncoder().encode(text)) ?? Data("\"\"".utf8), as: UTF8.self)
}
