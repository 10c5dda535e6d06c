import Foundation

/// Any JSON: requests on their way into path, query, form or body, and the control API of private systems (`StreakSnapTesting`).
package enum JSONValue: Codable, Hashable, Sendable {
    case null
    case flag(Bool)
    case whole(Int64)
    case real(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .flag(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .whole(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let value): try container.encode(value)
        case .whole(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// Of a value that is written as text; nil for lists, objects and null.
    package var plain: String? {
        switch self {
        case .flag(let value): value ? "true" : "false"
        case .whole(let value): String(value)
        case .real(let value): String(value)
        case .text(let value): value
        case .null, .list, .object: nil
        }
    }

    /// The members of an object as pairs of texts: `a.b` for a member of a member, a name for each entry of a list. Sorted by name.
    func pairs(prefix: String = "") -> [FormField] {
        switch self {
        case .object(let members):
            members.sorted { $0.key < $1.key }.flatMap { $0.value.pairs(prefix: prefix.isEmpty ? $0.key : "\(prefix).\($0.key)") }
        case .list(let entries): entries.flatMap { $0.pairs(prefix: prefix) }
        default: plain.map { [FormField(name: prefix, value: $0)] } ?? []
        }
    }
}

/// A name and a text.
struct FormField: Codable, Hashable, Sendable {
    var name: String
    var value: String
}
