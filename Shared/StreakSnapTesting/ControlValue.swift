import Foundation

/// JSON of the control API.
enum ControlValue: Codable, Hashable, Sendable {
    case null
    case flag(Bool)
    case whole(Int)
    case real(Double)
    case text(String)
    case list([ControlValue])
    case object([String: ControlValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .flag(value)
        } else if let value = try? container.decode(Int.self) {
            self = .whole(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([ControlValue].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: ControlValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
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

    /// A member of an object; null when there is none.
    subscript(_ name: String) -> ControlValue {
        if case .object(let members) = self { return members[name] ?? .null }
        return .null
    }

    /// A member that is a text.
    ///
    /// - Throws: `BAD_REPLY` when it is not.
    func text(_ name: String) throws -> String {
        guard case .text(let text) = self[name] else { throw TestKitError("BAD_REPLY", "the reply has no text “\(name)”") }
        return text
    }

    /// A member that is a text; nil when it is not.
    func optionalText(_ name: String) -> String? {
        if case .text(let text) = self[name] { return text }
        return nil
    }

    /// A member that is a list.
    func list(_ name: String) throws -> [ControlValue] {
        guard case .list(let list) = self[name] else { throw TestKitError("BAD_REPLY", "the reply has no list “\(name)”") }
        return list
    }

    /// A member that is an instant.
    func instant(_ name: String) throws -> Date {
        guard let date = Instants.date(try text(name)) else { throw TestKitError("BAD_REPLY", "“\(name)” is no time") }
        return date
    }

    /// Of a value that is written as a text; nil for lists, objects and null.
    var plain: String? {
        switch self {
        case .flag(let value): value ? "true" : "false"
        case .whole(let value): String(value)
        case .real(let value): String(value)
        case .text(let value): value
        case .null, .list, .object: nil
        }
    }
}

/// Instants as RFC 3339 texts in UTC.
enum Instants {
    /// nil for a text that is no instant. Foundation reads a fixed number of decimals only, so they are read here.
    static func date(_ text: String) -> Date? {
        guard text.hasSuffix("Z") else { return nil }
        let parts = text.dropLast().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let whole = try? Date("\(first)Z", strategy: .iso8601) else { return nil }
        guard parts.count == 2 else { return whole }
        guard let fraction = Double("0.\(parts[1])") else { return nil }
        return whole.addingTimeInterval(fraction)
    }

    /// To the millisecond.
    static func text(_ date: Date) -> String { date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}

extension Duration {
    /// In seconds.
    var inSeconds: Double { self / .seconds(1) }
}
