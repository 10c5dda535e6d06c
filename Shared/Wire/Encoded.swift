/// A message that is kept as its protobuf bytes: a reply that many callers get is encoded once.
public struct Encoded<Body: Message>: Message {
    /// The bytes of a `Body`.
    public let bytes: [UInt8]

    /// - Parameter bytes: what `Body.serialized()` gives, or such fields joined: a repeated field may be written in parts.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// That of a `Body`.
    public static var fullName: String { Body.fullName }

    /// Takes the bytes as they are: only `decoded()` reads them.
    public init(serialized bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }

    /// The bytes, as they were given.
    public func serialized() -> [UInt8] { bytes }

    /// The message.
    ///
    /// - Throws: `WireError` for bytes that are no `Body`.
    public func decoded() throws -> Body { try Body(serialized: bytes) }

    /// Of a reply nothing is to be checked.
    public func collectViolations(into _: inout Violations, path _: FieldPath) {}
}
