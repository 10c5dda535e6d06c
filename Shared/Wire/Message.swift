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
    /// A request that is refused, with stand-ins for the ids, dates and instants that cannot be read: to find what else is wrong with it.
    ///
    /// - Throws: `WireError` for bytes that are not this message.
    init(refused bytes: UnsafeRawBufferPointer, _ standIn: StandIn) throws
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

    public init(refused bytes: UnsafeRawBufferPointer, _: StandIn) throws { try self.init(serialized: bytes) }

    /// A request from its protobuf bytes, checked as `validate()` does.
    ///
    /// - Throws: `ServiceError` `VALIDATION_ERROR` with one detail per broken rule; `WireError` for bytes that are not this message.
    public init(request bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBytes { try Self(request: $0) }
    }

    /// What is wrong with the fields of a request, of which some may not be readable (PF-2). None of bytes that are not this message.
    ///
    /// Of what `check` says counts what it says whatever the fields are that cannot be read: a stand-in has no rule broken.
    ///
    /// - Parameter check: what is wrong beyond the validation options of the proto.
    public static func problems(
        ofRefused bytes: [UInt8],
        beyondOptions check: (Self) -> [ServiceError.Detail]
    ) -> [ServiceError.Detail] {
        func read(_ standIn: StandIn) -> Self? { try? bytes.withUnsafeBytes { try Self(refused: $0, standIn) } }
        guard let marked = read(.mark) else { return [] }
        var violations = Violations()
        marked.collectViolations(into: &violations, path: .root)
        var problems = violations.details
        let found = read(.lowest).map(check) ?? []
        if !found.isEmpty {
            let others = read(.highest).map(check) ?? []
            problems.add(found.filter(others.contains), most: Violations.mostDetails)
        }
        return problems
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

/// What stands in a request that is refused for an id, a date or an instant that cannot be read.
public enum StandIn: Sendable {
    /// A value that validation reports: for an id or a date a `Mark`; for an instant, which the gateway has reported, the epoch.
    case mark
    /// The lowest that there is.
    case lowest
    /// The highest that there is.
    case highest
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
