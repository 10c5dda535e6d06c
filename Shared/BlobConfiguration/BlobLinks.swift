public import BlobStore
public import Kernel
public import Runtime

/// Signed links to stored files, under the public address (PH-2).
public struct BlobLinks: Sendable {
    private let signer: SignedURL
    private let base: String

    /// Links under one address.
    ///
    /// - Parameter base: the public address before `/media/…`; empty for relative links.
    /// - Throws: `Settings.Invalid` for a secret below 32 characters.
    public init(secret: String, base: String) throws {
        try BlobSettings.check(linkSecret: secret)
        signer = SignedURL(secret: Array(secret.utf8))
        self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
    }

    /// From the settings of the program.
    ///
    /// - Throws: `Settings.Invalid`.
    public init(_ settings: Settings) throws {
        try self.init(secret: try settings.get(BlobSettings.signingKey), base: try settings.get(LinkSettings.publicURL))
    }

    /// A link to a file.
    ///
    /// - Parameter viewer: the user it is for, when that is not the owner.
    public func link(_ key: BlobKey, for viewer: UserID? = nil, expires: Instant) -> String {
        signer.sign(key: key, expires: expires, viewer: viewer, base: base)
    }

    /// A path of the public address.
    public func address(_ path: String) -> String { base + path }
}
