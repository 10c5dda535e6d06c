internal import BlobConfiguration
internal import BlobStore
internal import Kernel
internal import Runtime

/// Signed links to exports (AU-10).
struct ExportLinks: Sendable {
    /// How long a link works.
    static let lifetime = Interval.hours(24)

    private let signer: SignedURL
    private let base: String

    /// - Throws: `Settings.Invalid` for a signing key below 32 characters.
    init(_ settings: Settings) throws {
        let secret = try settings.get(BlobSettings.signingKey)
        guard secret.utf8.count >= 32 else { throw Settings.Invalid("--media-signing-key must have at least 32 characters.") }
        signer = SignedURL(secret: Array(secret.utf8))
        let base = try settings.get(LinkSettings.publicURL)
        self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
    }

    /// A link to a file.
    func link(_ key: BlobKey, now: Instant) -> String { signer.sign(key: key, expires: now + Self.lifetime, base: base) }
}
