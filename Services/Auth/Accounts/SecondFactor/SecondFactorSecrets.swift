internal import AuthDomain
internal import Cryptography
internal import Kernel

/// Makes the secrets of second factors, and keeps them out of sight: the table holds them encrypted, and of recovery codes hashes only.
///
/// The key is derived from `auth.refresh-secret`. With another one no code is right any more, but the recovery codes still are.
struct SecondFactorSecrets: Sendable {
    private let key: SymmetricKey

    /// - Parameter secret: the one that refresh tokens are derived with; this key is of another derivation.
    init(secret: String) {
        key = SymmetricKey(derivedFrom: secret.utf8, info: "second factor".utf8)
    }

    /// A new secret for an authenticator app.
    func makeSecret() -> [UInt8] { Unguessable.bytes(TimeBasedCode.secretBytes) }

    /// New recovery codes, as they are shown.
    func makeRecoveryCodes() -> [String] {
        (0..<RecoveryCode.count).map { _ in RecoveryCode.text(Unguessable.bytes(RecoveryCode.bytes)) }
    }

    /// What is stored of a recovery code in its normalized form.
    func hash(_ code: String) -> [UInt8] { Array(SHA256.hash(data: "recovery code \(code)".utf8)) }

    /// What is stored of a secret. It opens for its account only: a row copied to another account is of no use.
    func seal(_ secret: [UInt8], of account: UserID) throws -> [UInt8] {
        try ChaChaPoly.seal(secret, using: key, authenticating: Self.name(account))
    }

    /// The secret of a row; nil when it was sealed with another key or for another account.
    func open(_ sealed: [UInt8], of account: UserID) -> [UInt8]? {
        try? ChaChaPoly.open(sealed, using: key, authenticating: Self.name(account))
    }

    /// HMAC-SHA-1, as RFC 6238 has it: authenticator apps know no other.
    static func authenticate(_ message: [UInt8], secret: [UInt8]) -> [UInt8] {
        HMACSHA1.code(for: message, key: secret)
    }

    private static func name(_ account: UserID) -> [UInt8] { Array("\(account)".utf8) }
}
