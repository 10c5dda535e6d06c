import FoundationEssentials
import Kernel

/// Any JSON value: what the control API and the stand-ins read and write.
enum JSON: Encodable, Hashable, Sendable {
    case object([String: JSON])
    case list([JSON])
    case text(String)
    case whole(Int64)
    case number(Double)
    case flag(Bool)
    case null

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .object(let members): try container.encode(members)
        case .list(let elements): try container.encode(elements)
        case .text(let value): try container.encode(value)
        case .whole(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .flag(let value): try container.encode(value)
        case .null: try container.encodeNil()
        }
    }

    /// The value that bytes are the text of; nil when they are no JSON, or have a member twice.
    init?(bytes: [UInt8]) {
        var reader = JSONReader(bytes, limits: JSONReader.Limits(depth: 64, members: 10_000, stringBytes: 16 << 20))
        do {
            self = try Self.read(&reader)
            try reader.finish()
        } catch { return nil }
    }

    private static func read(_ reader: inout JSONReader) throws(JSONProblem) -> JSON {
        switch try reader.kind() {
        case .object:
            try reader.beginObject()
            var members: [String: JSON] = [:]
            while let name = try reader.nextName() { members[name] = try read(&reader) }
            return .object(members)
        case .array:
            try reader.beginArray()
            var elements: [JSON] = []
            while try reader.nextElement() { elements.append(try read(&reader)) }
            return .list(elements)
        case .string: return .text(try reader.string())
        case .number:
            let number = try reader.number()
            return Int64(exactly: number).map { .whole($0) } ?? .number(number)
        case .bool: return .flag(try reader.bool())
        case .null:
            try reader.null()
            return .null
        }
    }

    /// Its text, with the members of objects in the order of their names.
    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Only a number that JSON cannot hold would fail, and none is made here.
        return (try? encoder.encode(self)).map { Array($0) } ?? Array("null".utf8)
    }

    /// A member of an object; `null` when there is none.
    subscript(name: String) -> JSON {
        guard case .object(let members) = self else { return .null }
        return members[name] ?? .null
    }

    var string: String? {
        guard case .text(let value) = self else { return nil }
        return value
    }

    var elements: [JSON] {
        guard case .list(let elements) = self else { return [] }
        return elements
    }

    /// A text, or `null`.
    static func optional(_ text: String?) -> JSON { text.map { .text($0) } ?? .null }

    /// The members of an object of texts.
    static func texts(_ members: [String: String]) -> JSON { .object(members.mapValues { .text($0) }) }
}

/// The body of a request of the control API: an object all of whose fields are known.
struct Fields {
    private let values: [String: JSON]

    /// - Parameter known: the fields that there are; an empty body has none.
    /// - Throws: `VALIDATION_ERROR` naming the field that is unknown, or `body`.
    init(_ body: [UInt8], known: Set<String>) throws(ControlError) {
        guard !body.isEmpty else {
            values = [:]
            return
        }
        guard case .object(let members)? = JSON(bytes: body) else {
            throw .invalid("body", "must be a JSON object")
        }
        if let stranger = members.keys.sorted().first(where: { !known.contains($0) }) {
            throw .invalid(stranger, "is no field of this request; there are: \(known.sorted().joined(separator: ", "))")
        }
        values = members.filter { $0.value != .null }
    }

    func has(_ name: String) -> Bool { values[name] != nil }

    /// A text of 1 to 1000 characters.
    func text(_ name: String) throws(ControlError) -> String? {
        guard let value = values[name] else { return nil }
        guard let text = value.string, (1...1_000).contains(text.count) else {
            throw .invalid(name, "must be a text of 1 to 1000 characters")
        }
        return text
    }

    /// A text that must be there.
    func required(_ name: String) throws(ControlError) -> String {
        guard let text = try text(name) else { throw .invalid(name, "is required") }
        return text
    }

    /// A whole number.
    func whole(_ name: String, in range: ClosedRange<Int64>) throws(ControlError) -> Int64? {
        guard let value = values[name] else { return nil }
        guard case .whole(let number) = value, range.contains(number) else {
            throw .invalid(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func flag(_ name: String) throws(ControlError) -> Bool? {
        guard let value = values[name] else { return nil }
        guard case .flag(let flag) = value else { throw .invalid(name, "must be true or false") }
        return flag
    }

    /// A time in RFC 3339.
    func time(_ name: String) throws(ControlError) -> Instant? {
        guard let text = try text(name) else { return nil }
        guard let time = Instant(rfc3339: text) else {
            throw .invalid(name, "must be a time in RFC 3339, 2026-05-04T10:00:00Z")
        }
        return time
    }

    /// An object of texts.
    func texts(_ name: String) throws(ControlError) -> [String: String] {
        guard let value = values[name] else { return [:] }
        guard case .object(let members) = value else { throw .invalid(name, "must be an object of texts") }
        var result: [String: String] = [:]
        for (key, member) in members {
            guard let text = member.string else { throw .invalid("\(name).\(key)", "must be a text") }
            result[key] = text
        }
        return result
    }
}
