internal import Cryptography
internal import Kernel
internal import Runtime

/// Makes refresh tokens and their successors (AU-4).
///
/// The first of a family is random. Each successor is a keyed hash of its predecessor, so a client whose reply was lost gets the same
/// successor again although only hashes are stored.
struct RefreshTokens: Sendable {
    private let key: HMACSHA256

    /// - Throws: `Settings.Invalid` for a secret below 32 characters.
    init(secret: String) throws {
        guard secret.utf8.count >= 32 else { throw Settings.Invalid("--auth-refresh-secret must have at least 32 characters.") }
        self.key = HMACSHA256(key: secret.utf8)
    }

    /// 256 random bits, base64url.
    func first() -> String { Base64URL.encode(Unguessable.bytes(32)) }

    /// The token that replaces `token`; always the same one.
    func successor(of token: String) -> String {
        Base64URL.encode(key.code(for: "refresh \(token)".utf8))
    }

    /// What is stored.
    func hash(_ token: String) -> [UInt8] { Array(SHA256.hash(data: token.utf8)) }
}
