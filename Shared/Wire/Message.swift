public import Kernel

/// A protobuf message as a Swift value. Generated from `Proto/` (D1); only tests have a conformance written by hand.
public protocol Message: Sendable, Equatable {
    /// The full proto name: `streaksnap.auth.v1.RegisterRequest`.
    static var fullName: String { get }
    /// A message from its protobuf bytes. Unknown fields are ignored, unknown enum values are kept.
    ///
    /// - Throws: `WireError` for bytes that are not this message, or that break a limit of `WireLimits`; never traps.
    init(serialized bytes: UnsafeRawBufferPointer) throws
    /// A request from its protobuf bytes, checked as `validate()` does. Unlike `init(serialized:)` it reports texts that are no id or
    /// date together with everything else that is wrong.
    ///
    /// - Throws: `ServiceError` `VALIDATION_ERROR` with one detail per broken rule; `WireError` for bytes that are not this message.
    init(request bytes: UnsafeRawBufferPointer) throws
    /// The message as protobuf bytes; equal messages give equal bytes (maps are written in the order of their keys).
    ///
    /// - Throws: `WireError` when a string holds NUL, an instant lies outside the years 1…9999, or the result is too large.
    func serialized() throws -> [UInt8]
    /// Adds what breaks the validation options of the proto.
    ///
    /// - Parameters:
    ///   - violations: Receives one entry per broken rule.
    ///   - path: Where this message lies in the request; `FieldPath.root` for the request itself.
    func collectViolations(into violations: inout Violations, path: FieldPath)
}

/// A message that is emitted when something happened (D5): a message with the `event` option.
public protocol Event: Message {
    /// Where it is published: `evt.auth.v1.ProfileChanged`.
    static var subject: String { get }
    /// What it is about; events of one aggregate keep their order.
    var aggregateID: String { get }
}

extension Message {
    /// A message from its protobuf bytes.
    ///
    /// - Throws: `WireError` for bytes that are not this message.
    public init(serialized bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBytes { try Self(serialized: $0) }
    }

    public init(request bytes: UnsafeRawBufferPointer) throws {
        try self.init(serialized: bytes)
        try validate()
    }

    /// A request from its protobuf bytes, checked as `validate()` does.
    ///
    /// - Throws: `ServiceError` `VALIDATION_ERROR` with one detail per broken rule; `WireError` for bytes that are not this message.
    public init(request bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBytes { try Self(request: $0) }
    }

    /// Checks every validation option of the proto and reports everything that is wrong at once.
    ///
    /// - Throws: `ServiceError` `VALIDATION_ERROR` with one detail per broken rule.
    public func validate() throws(ServiceError) {
        var violations = Violations()
        collectViolations(into: &violations, path: .root)
        guard violations.isEmpty else { throw .validation(violations.details) }
    }
}

/// What a codec accepts at most (D9: all input is bounded).
public enum WireLimits {
    /// Most bytes of one message: 16 MiB. Big bytes stay off the bus (D4).
    public static let maxBytes = 16 << 20
    /// Deepest nesting of messages; the outermost counts as one.
    public static let maxDepth = 64
    /// Most memory that decoding one message may take before it becomes Swift values: 64 MiB. Many empty sub-messages cost far
    /// more memory than bytes, so the size of the input alone is no bound.
    public static let maxArenaBytes = 64 << 20
}

/// Why bytes could not be decoded, or a message not encoded. Never carries a value.
public enum WireError: Error, Hashable, Sendable {
    /// Not protobuf, cut off, or a field of another type than declared.
    case malformed
    /// A string field that is not UTF-8.
    case invalidUTF8(field: String)
    /// A string with U+0000: C would cut it there, so it is refused both ways.
    case nulInString(field: String)
    /// More than `WireLimits.maxDepth` messages inside one another.
    case tooDeep
    /// More than `WireLimits.maxBytes`, or more memory than `WireLimits.maxArenaBytes`.
    case tooLarge
    /// A timestamp outside the years 1…9999, or with nanoseconds outside 0…999,999,999.
    case timestampOutOfRange(field: String)
    /// A text that should be an id or a date and is neither.
    case unreadable(field: String)
}

/// An enum of a proto: known cases, and a number for the values that a newer sender may use.
public protocol OpenEnum: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == Int32 {
    /// The case of a number; one that is not known is kept as it is.
    init(rawValue: Int32)
    /// The lower-case name without the enum's prefix, as in the public API: `active`; the number for an unknown value.
    var name: String { get }
}

extension OpenEnum {
    /// The case of a lower-case name without the enum's prefix; nil when there is none.
    public init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}
