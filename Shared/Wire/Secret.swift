/// A message with a field marked `secret`: printing, dumping or interpolating it never shows that field (D11).
public protocol SecretBearing: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension SecretBearing {
    public var description: String {
        let mirror = customMirror
        let fields = mirror.children.map { "\($0.label ?? ""): \($0.value)" }
        return "\(mirror.subjectType)(\(fields.joined(separator: ", ")))"
    }

    public var debugDescription: String { description }
}

/// What is printed in place of a secret.
public struct Redacted: Sendable, CustomStringConvertible {
    /// A placeholder for any secret.
    public init() {}
    public var description: String { "<secret>" }
}
