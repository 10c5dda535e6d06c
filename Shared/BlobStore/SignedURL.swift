private import Cryptography
public import Kernel

/// Links to blobs that any holder may use until they expire (PH-2): `/media/{key}?exp={seconds}&sig={signature}`,
/// with `&for={user}` before the signature when it was made for one viewer.
///
/// The signature is HMAC-SHA256 over key, expiry and viewer, in base64url. The gateway verifies it without a call. The HMAC key is
/// prepared once, because a feed signs many links.
public struct SignedURL: Sendable {
    private let hmac: HMACSHA256

    /// - Parameter secret: The media signing key, at least 32 bytes.
    public init(secret: [UInt8]) { hmac = HMACSHA256(key: secret) }

    /// A link.
    ///
    /// - Parameters:
    ///   - key: The blob.
    ///   - expires: When the link expires; whole seconds, rounded down.
    ///   - viewer: The user it is made for: it is invalid while the owner's blobs are hidden from that user. Nil: for any user.
    ///   - base: The prefix of path and query; empty for a relative link.
    public func sign(key: BlobKey, expires: Instant, viewer: UserID? = nil, base: String = "") -> String {
        let (expiry, viewer) = (String(expires.seconds), viewer?.description)
        var link = base
        link.reserveCapacity(base.utf8.count + key.description.utf8.count + expiry.utf8.count + 101)
        link += "/media/"
        link += key.description
        link += "?exp="
        link += expiry
        if let viewer {
            link += "&for="
            link += viewer
        }
        link += "&sig="
        link += Base64URL.encode(hmac.code(for: message(key.description, expiry, viewer)))
        return link
    }

    /// The key of a genuine link that has not expired. Signatures are compared in constant time.
    ///
    /// - Parameters:
    ///   - key: The part of the path after `/media/`.
    ///   - expires: The query parameter `exp`.
    ///   - viewer: The query parameter `for`; nil when there is none.
    ///   - signature: The query parameter `sig`.
    ///   - now: The current instant.
    /// - Throws: `LINK_EXPIRED` (permission denied) for a genuine but expired link; `NOT_FOUND` for any other, which does not
    ///   reveal what exists.
    /// - Returns: The blob, the user the link was made for, and when it expires.
    public func verify(
        key: String,
        expires: String,
        viewer: String? = nil,
        signature: String,
        now: Instant
    ) throws(ServiceError) -> (key: BlobKey, viewer: UserID?, expires: Instant) {
        guard let seconds = Int64(expires), String(seconds) == expires, signature.utf8.count == 43,
            let code = Base64URL.decode(signature), hmac.isValid(code, for: message(key, expires, viewer)),
            let blobKey = try? BlobKey(key)
        else { throw .notFound("file") }
        guard now.seconds < seconds else { throw ServiceError(.permissionDenied, "LINK_EXPIRED", "The link has expired.") }
        return (blobKey, viewer.flatMap { UserID($0) }, Instant(seconds: seconds))
    }

    private func message(_ key: String, _ expiry: String, _ viewer: String?) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(key.utf8.count + expiry.utf8.count + 47)
        message += "media.v1\n".utf8
        message += key.utf8
        message.append(UInt8(ascii: "\n"))
        message += expiry.utf8
        if let viewer {
            message.append(UInt8(ascii: "\n"))
            message += viewer.utf8
        }
        return message
    }
}
