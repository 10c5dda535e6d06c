internal import Cryptography
internal import Kernel

/// The id of a token that is sent by mail.
typealias EmailTokenID = ID<EmailTokens>

/// Makes tokens that are sent by mail (AU-13).
///
/// A token is a keyed hash of its row's id, and the row holds only the token's hash: so it is in no table of ours, and yet a mail that a crash has
/// held up can be sent with the same token.
struct EmailTokens: Sendable {
    private let key: HMACSHA256

    /// - Parameter secret: the one that refresh tokens are derived with; the texts that are hashed begin with different words.
    init(secret: String) { key = HMACSHA256(key: secret.utf8) }

    /// The token of a row: always the same one.
    func token(_ id: EmailTokenID) -> String {
        Base64URL.encode(key.code(for: "e-mail \(id)".utf8))
    }

    /// What is stored.
    func hash(_ token: String) -> [UInt8] { Array(SHA256.hash(data: token.utf8)) }
}
