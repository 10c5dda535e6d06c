public import Kernel

/// A protobuf message as a Swift value. Generated from `Proto/` (D1); only tests conform by hand.
public protocol Message: Sendable, Equatable {
    /// The full proto name: `streaksnap.auth.v1.RegisterRequest`.
    static var fullName: String { get }
    /// A message whose fields are all unset.
    init()
    /// A message from its protobuf bytes. Unknown fields are ignored, unknown enum values are kept.
    ///
    /// - Throws: `WireError` for bytes that are not this message, or that break a limit of `WireLimits`; never traps.
    init(serialized bytes: UnsafeRawBufferPointer) throws
    /// The message as protobuf bytes; equal messages give equal bytes (maps are written in the order of their keys).
    ///
    /// - Throws: `WireError` when a string holds NUL, an instant lies outside the years 1…9999, or the result is too large.
    func serialized() throws -> [UInt8]
    /// Adds every violation of the proto's validation options.
    ///
    /// - Parameters:
    ///   - violations: Receives one entry per broken rule.
    ///   - path: The path of this message in the request; `FieldPath.root` for the request itself.
    func collectViolations(into violations: inout Violations, path: FieldPath)
}

/// An event (D5): a message with the `event` option.
public protocol Event: Message {
    /// The subject it is published to: `evt.auth.v1.ProfileChanged`.
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

    /// Checks every validation option of the proto and reports all violations at once.
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
    /// Most bytes of one message: 16 MiB. Larger content goes to the blob store (D4).
    public static let maxBytes = 16 << 20
    /// Deepest nesting of messages; the outermost counts as one.
    public static let maxDepth = 64
    /// Most memory that decoding one message may use before it becomes Swift values: 64 MiB. Many empty sub-messages use far more
    /// memory than bytes, so a limit on the input's size is not enough.
    public static let maxArenaBytes = 64 << 20
}

/// Why bytes could not be decoded, or a message not encoded. Never carries a value.
public enum WireError: Error, Hashable, Sendable {
    /// Not protobuf, truncated, or a field of another type than declared.
    case malformed
    /// A string field that is not UTF-8.
    case invalidUTF8(field: String)
    /// A string with U+0000. C would end the string there, so encoding and decoding refuse it.
    case nulInString(field: String)
    /// Messages nested deeper than `WireLimits.maxDepth`.
    case tooDeep
    /// More than `WireLimits.maxBytes`, or more memory than `WireLimits.maxArenaBytes`.
    case tooLarge
    /// A timestamp outside the years 1…9999, or with nanoseconds outside 0…999,999,999.
    case timestampOutOfRange(field: String)
}

/// An enum of a proto: known cases, and a number for values of a newer sender.
public protocol OpenEnum: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == Int32 {
    /// The case of a number; an unknown number is kept.
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
