internal import BlobStore
internal import Kernel
internal import Runtime

/// Signed links to stored blobs (PH-2).
struct MediaLinks: Sendable {
    /// How long a link lives.
    static let lifetime = Interval.hours(24)

    private let secret: [UInt8]
    private let base: String

    /// - Parameter base: the public address before `/media/…`; empty for relative links.
    /// - Throws: `Settings.Invalid` for a secret below 32 characters.
    init(secret: String, base: String) throws {
        guard secret.utf8.count >= 32 else { throw Settings.Invalid("--media-signing-key must have at least 32 characters.") }
        self.secret = Array(secret.utf8)
        self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
    }

    /// A path of the public address.
    func address(_ path: String) -> String { base + path }

    func link(_ key: String, now: Instant) throws -> String {
        base + SignedURL.sign(key: try BlobKey(key), expires: now + Self.lifetime, secret: secret)
    }
}
