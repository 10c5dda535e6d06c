internal import BlobStore
internal import Kernel
internal import Replicas
internal import Runtime

/// Signed links to stored photos (PH-2), and unsigned ones to avatars.
struct MediaLinks: Sendable {
    /// How long a link lives.
    static let lifetime = Interval.hours(24)

    private let signer: SignedURL
    private let base: String
    private let avatars: AvatarLinks

    /// - Parameter base: the public address before `/media/…`; empty for relative links.
    /// - Throws: `Settings.Invalid` for a secret below 32 characters.
    init(secret: String, base: String) throws {
        guard secret.utf8.count >= 32 else { throw Settings.Invalid("--media-signing-key must have at least 32 characters.") }
        self.signer = SignedURL(secret: Array(secret.utf8))
        self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
        self.avatars = AvatarLinks(base: base)
    }

    /// - Parameter viewer: whom it is for, when that is not the owner.
    func link(_ key: String, for viewer: UserID? = nil, now: Instant) throws -> String {
        signer.sign(key: try BlobKey(key), expires: now + Self.lifetime, viewer: viewer, base: base)
    }

    /// A path of the public address.
    func address(_ path: String) -> String { base + path }

    /// The link to one of an avatar's renditions.
    func avatar(_ key: BlobKey) -> String { avatars.url(key.description) ?? "" }
}
