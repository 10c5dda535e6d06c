import Foundation
import StreakSnapClient

/// Replies of the control API.
extension JSONValue {
    /// A member of an object; null when there is none.
    subscript(_ name: String) -> JSONValue {
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
    func list(_ name: String) throws -> [JSONValue] {
        guard case .list(let list) = self[name] else { throw TestKitError("BAD_REPLY", "the reply has no list “\(name)”") }
        return list
    }

    /// A member that is an instant.
    func instant(_ name: String) throws -> Date {
        guard let date = Instants.date(try text(name)) else { throw TestKitError("BAD_REPLY", "“\(name)” is no time") }
        return date
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
