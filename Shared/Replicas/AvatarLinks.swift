/// Links to avatars: stable and unsigned, so that making one costs nothing in a list of friends.
///
/// One cannot be guessed, because its key has an id of the picture. It is invalid when its owner may not be seen (PH-6) or has another picture.
public struct AvatarLinks: Sendable {
    private let base: String

    /// - Parameter base: the public address before `/media/…`; empty for relative links.
    public init(base: String = "") { self.base = base.hasSuffix("/") ? "\(base.dropLast())/media/" : "\(base)/media/" }

    /// The link to an avatar by its key, as `ProfileState` has it; nil for the empty key of a user without one.
    public func url(_ key: String) -> String? { key.isEmpty ? nil : base + key }
}
