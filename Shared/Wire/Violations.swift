public import Kernel

/// The path of a field in a request, as callers write it: `photo.key`, `items[2].name`.
public struct FieldPath: Sendable, Hashable, CustomStringConvertible {
    /// The path with a dot at its end, or nothing for the request itself.
    private let prefix: String

    /// The request itself.
    public static let root = FieldPath(prefix: "")

    private init(prefix: String) { self.prefix = prefix }

    /// The message in `field` of this message.
    public func child(_ field: StaticString) -> FieldPath { FieldPath(prefix: "\(prefix)\(field).") }

    /// The message at `index` of the repeated `field` of this message.
    public func child(_ field: StaticString, index: Int) -> FieldPath { FieldPath(prefix: "\(prefix)\(field)[\(index)].") }

    /// The message under `key` of the map `field` of this message.
    public func child(_ field: StaticString, key: some CustomStringConvertible) -> FieldPath {
        FieldPath(prefix: "\(prefix)\(field)[\(key)].")
    }

    /// The path of `field` of this message.
    public func field(_ field: StaticString, index: Int? = nil) -> String {
        index.map { "\(prefix)\(field)[\($0)]" } ?? "\(prefix)\(field)"
    }

    public var description: String { prefix.hasSuffix(".") ? String(prefix.dropLast()) : prefix }
}

/// The violations found in a request. Generated code calls its checks, one for each validation option (`streaksnap.options.v1`).
///
/// A violation says what the rule is, never what was sent. Its size is bounded for hostile requests: after `mostDetails` entries it
/// only notes that there were more.
public struct Violations: Sendable {
    /// Most entries that are kept.
    public static let mostDetails = 100

    /// One entry per field, the first rule it breaks, in the order of the fields.
    public private(set) var details: [ServiceError.Detail] = []

    /// No violations yet.
    public init() {}

    /// Whether there are no violations.
    public var isEmpty: Bool { details.isEmpty }

    /// Adds a violation of `field` of the message at `path`.
    public mutating func add(_ message: String, at path: FieldPath, _ field: StaticString, index: Int? = nil) {
        guard details.count < Self.mostDetails else { return }
        let name = path.field(field, index: index)
        // The rules of a field are checked in order; a value that breaks the first mostly breaks the next too.
        guard details.last?.field != name else { return }
        details.append(ServiceError.Detail(field: name, message: message))
    }

    /// `required`: the field is set, and neither empty nor zero.
    public mutating func required(at path: FieldPath, _ field: StaticString) { add("is required", at: path, field) }

    /// `min_len`, `max_len`: length in characters as a person counts them, and in the bytes that so many may take (`TextLength`).
    public mutating func length(
        _ text: String,
        min: Int = 0,
        max: Int = .max,
        at path: FieldPath,
        _ field: StaticString,
        index: Int? = nil
    ) {
        // A character has at least one byte, so most texts need no counting.
        let bytes = text.utf8.count
        guard bytes > max || bytes == 0 || min > 1 else { return }
        let most = TextLength.mostBytes(characters: max)
        guard bytes <= most else {
            return add("must have at most \(max) characters and \(most) bytes", at: path, field, index: index)
        }
        let count = text.count
        if count < min || count > max {
            add("must have \(Self.range(min, max)) characters", at: path, field, index: index)
        }
    }

    /// `min_bytes`, `max_bytes`.
    public mutating func bytes(
        _ count: Int,
        min: Int = 0,
        max: Int = .max,
        at path: FieldPath,
        _ field: StaticString,
        index: Int? = nil
    ) {
        if count < min || count > max { add("must have \(Self.range(min, max)) bytes", at: path, field, index: index) }
    }

    /// `min_items`, `max_items`. None at all is a missing field: in protobuf an empty list is none.
    public mutating func items(_ count: Int, min: Int = 0, max: Int = .max, at path: FieldPath, _ field: StaticString) {
        guard count < min || count > max else { return }
        let entries = "\(Self.range(min, max)) entries"
        add(count == 0 ? "is required: \(entries)" : "must have \(entries)", at: path, field)
    }

    /// `gte`, `lte` of a whole number.
    public mutating func bounds<Number: BinaryInteger>(
        _ number: Number,
        min: Int64 = .min,
        max: Int64 = .max,
        at path: FieldPath,
        _ field: StaticString,
        index: Int? = nil
    ) {
        // The widest bounds mean no bounds: a UInt64 may exceed Int64.max.
        if number < min || (max != .max && number > max) { outOfBounds(min, max, path, field, index) }
    }

    /// `gte`, `lte` of a floating-point number; NaN is out of bounds.
    public mutating func bounds<Number: BinaryFloatingPoint>(
        _ number: Number,
        min: Int64 = .min,
        max: Int64 = .max,
        at path: FieldPath,
        _ field: StaticString,
        index: Int? = nil
    ) {
        let isWithin = (min == .min || number >= Number(min)) && (max == .max || number <= Number(max))
        if !isWithin || number.isNaN { outOfBounds(min, max, path, field, index) }
    }

    /// `in`: one of a few texts.
    public mutating func member(
        _ text: String,
        of allowed: [String],
        at path: FieldPath,
        _ field: StaticString,
        index: Int? = nil
    ) {
        if !allowed.contains(text) {
            add("must be one of: \(allowed.joined(separator: ", "))", at: path, field, index: index)
        }
    }

    /// `format`; an empty text passes.
    public mutating func format(
        _ text: String,
        _ format: TextFormat,
        at path: FieldPath,
        _ field: StaticString,
        index: Int? = nil
    ) {
        if !text.isEmpty, !format.accepts(text) { add("must be \(format.description)", at: path, field, index: index) }
    }

    private mutating func outOfBounds(_ min: Int64, _ max: Int64, _ path: FieldPath, _ field: StaticString, _ index: Int?) {
        let message: String
        switch (min, max) {
        case (.min, _): message = "must be at most \(max)"
        case (_, .max): message = "must be at least \(min)"
        default: message = "must be between \(min) and \(max)"
        }
        add(message, at: path, field, index: index)
    }

    private static func range(_ min: Int, _ max: Int) -> String {
        if min == max { return "exactly \(min)" }
        if max == .max { return "at least \(min)" }
        return min == 0 ? "at most \(max)" : "\(min) to \(max)"
    }
}
