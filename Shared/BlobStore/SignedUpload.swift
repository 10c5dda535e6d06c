private import Cryptography
public import Kernel

/// A file that a client has announced and will send: nothing else is taken in its place.
public struct ExpectedUpload: Sendable, Hashable {
    /// Bytes.
    public var size: Int64
    /// Its media type, `video/mp4`.
    public var contentType: String
    /// SHA-256 of the bytes, 32 bytes.
    public var sha256: [UInt8]

    /// A file that will be sent.
    public init(size: Int64, contentType: String, sha256: [UInt8]) {
        (self.size, self.contentType, self.sha256) = (size, contentType, sha256)
    }
}

/// What a client sends to store a file: a PUT to the URL, with exactly these headers.
public struct DirectUpload: Sendable, Hashable {
    /// A header of the request.
    public struct Header: Sendable, Hashable {
        /// In lower case.
        public var name: String
        /// As it must be sent.
        public var value: String

        /// A header.
        public init(name: String, value: String) { (self.name, self.value) = (name, value) }
    }

    /// With its signature.
    public var url: String
    /// Length, type and checksum; they are signed.
    public var headers: [Header]

    /// A request to send.
    public init(url: String, headers: [Header]) { (self.url, self.headers) = (url, headers) }
}

/// Links by which a client sends one announced file through the gateway (PL-1):
/// `/uploads/{rest of the key}?exp=&size=&type=&sha256=&sig=`.
///
/// The signature is HMAC-SHA256 over key, expiry, size, type and hash, in base64url. The gateway verifies it without a call. It cannot be
/// taken for that of a link to read (`SignedURL`): its message begins with another word.
public struct SignedUpload: Sendable {
    /// The folder of these files in the store, and of the links.
    public static let folder = "uploads"

    private let hmac: HMACSHA256

    /// - Parameter secret: The media signing key, at least 32 bytes.
    public init(secret: [UInt8]) { hmac = HMACSHA256(key: secret) }

    /// A link for one file, and the headers it must come with.
    ///
    /// - Parameters:
    ///   - key: In the folder `uploads`.
    ///   - expires: When the link expires; whole seconds, rounded down.
    ///   - base: The prefix of path and query; empty for a relative link.
    public func sign(_ file: ExpectedUpload, to key: BlobKey, expires: Instant, base: String = "") -> DirectUpload {
        let hash = Base64URL.encode(file.sha256)
        let message = Self.message(key.description, "\(expires.seconds)", "\(file.size)", file.contentType, hash)
        let signature = Base64URL.encode(hmac.code(for: message))
        return DirectUpload(
            url:
                "\(base)/\(key)?exp=\(expires.seconds)&size=\(file.size)&type=\(file.contentType)&sha256=\(hash)&sig=\(signature)",
            headers: [
                .init(name: "content-length", value: "\(file.size)"), .init(name: "content-type", value: file.contentType),
                .init(name: "content-digest", value: Self.digest(of: file)),
            ]
        )
    }

    /// The value of `Content-Digest` (RFC 9530) of a file.
    public static func digest(of file: ExpectedUpload) -> String { "sha-256=:\(Base64.encode(file.sha256)):" }

    /// What a genuine link that has not expired is for. Signatures are compared in constant time.
    ///
    /// - Parameters:
    ///   - key: The path without its first slash.
    ///   - query: The value of a parameter; nil when there is none.
    ///   - now: The current instant.
    /// - Throws: `LINK_EXPIRED` (permission denied) for a genuine but expired link; `NOT_FOUND` for any other.
    public func verify(
        key: String,
        query: (_ name: String) -> String?,
        now: Instant
    ) throws(ServiceError) -> (key: BlobKey, file: ExpectedUpload) {
        guard let expiry = query("exp"), let seconds = Int64(expiry), String(seconds) == expiry, let size = query("size"),
            let bytes = Int64(size), bytes >= 0, String(bytes) == size, let type = query("type"), let hash = query("sha256"),
            let sha256 = Base64URL.decode(hash), sha256.count == 32, let signature = query("sig"),
            signature.utf8.count == 43, let code = Base64URL.decode(signature),
            hmac.isValid(code, for: Self.message(key, expiry, size, type, hash)),
            key.hasPrefix("\(Self.folder)/"), let blob = try? BlobKey(key)
        else { throw .notFound("file") }
        guard now.seconds < seconds else { throw ServiceError(.permissionDenied, "LINK_EXPIRED", "The link has expired.") }
        return (blob, ExpectedUpload(size: bytes, contentType: type, sha256: sha256))
    }

    private static func message(_ parts: String...) -> String.UTF8View { (["upload.v1"] + parts).joined(separator: "\n").utf8 }
}
