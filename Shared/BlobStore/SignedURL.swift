private import Crypto
public import Kernel

/// Links to blobs that whoever holds them may follow until they expire (PH-2): `/media/{key}?exp={seconds}&sig={signature}`.
///
/// The signature is HMAC-SHA256 over key and expiry, in base64url. The gateway checks it without asking any service.
public enum SignedURL {
    /// The path and query of a link.
    ///
    /// - Parameters:
    ///   - key: The blob.
    ///   - expires: From when on the link is refused; whole seconds, rounded down.
    ///   - secret: The media signing key, at least 32 bytes.
    public static func sign(key: BlobKey, expires: Instant, secret: [UInt8]) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: signed(key.description, expires.seconds),
            using: SymmetricKey(data: secret)
        )
        return "/media/\(key)?exp=\(expires.seconds)&sig=\(Base64URL.encode(Array(code)))"
    }

    /// The key of a link that is genuine and has not expired. Signatures are compared in constant time.
    ///
    /// - Parameters:
    ///   - key: The part of the path after `/media/`.
    ///   - expires: The query parameter `exp`.
    ///   - signature: The query parameter `sig`.
    ///   - now: The current instant.
    ///   - secret: The media signing key.
    /// - Throws: `LINK_EXPIRED` (permission denied) for a genuine link that has; `NOT_FOUND` for anything not genuine, which says
    ///   nothing of what exists.
    public static func verify(
        key: String,
        expires: String,
        signature: String,
        now: Instant,
        secret: [UInt8]
    ) throws(ServiceError) -> BlobKey {
        guard let seconds = Int64(expires), String(seconds) == expires, signature.utf8.count == 43,
            let code = Base64URL.decode(signature),
            HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed(key, seconds), using: SymmetricKey(data: secret)),
            let blobKey = try? BlobKey(key)
        else { throw .notFound("file") }
        guard now.seconds < seconds else { throw ServiceError(.permissionDenied, "LINK_EXPIRED", "The link has expired.") }
        return blobKey
    }

    private static func signed(_ key: String, _ expires: Int64) -> [UInt8] { Array("media.v1\n\(key)\n\(expires)".utf8) }
}
