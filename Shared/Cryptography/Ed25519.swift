internal import COpenSSL

/// Signatures by Ed25519 (RFC 8032): 64 bytes, always the same for one key and message.
public enum Ed25519 {
    /// Bytes of a public key.
    static let keySize = 32
    /// Bytes of a signature.
    static let signatureSize = 64

    /// A public key.
    public struct PublicKey: Sendable, Hashable {
        /// 32 bytes, as RFC 8032 encodes them.
        public let bytes: [UInt8]
        private let key: Key

        /// The key with these 32 bytes.
        ///
        /// - Throws: `CryptographyError` for any other number of bytes.
        public init(_ bytes: [UInt8]) throws(CryptographyError) {
            self.bytes = bytes
            key = try OpenSSL.attempt("use bytes as an Ed25519 key") {
                guard bytes.count == keySize else { return nil }
                return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count).map(Key.init)
            }
        }

        /// Whether the private key has signed a message. Anything but 64 bytes is no signature.
        public func isValid(_ signature: [UInt8], for message: some Collection<UInt8>) -> Bool {
            let isValid: Bool? = try? OpenSSL.attempt("verify") {
                signature.count == signatureSize && key.hasMadeWhole(signature, of: message)
            }
            return isValid ?? false
        }

        /// Whether the bytes are the same.
        public static func == (left: PublicKey, right: PublicKey) -> Bool { left.bytes == right.bytes }

        /// Hashes the bytes.
        public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
    }

    /// A private key.
    public struct PrivateKey: Sendable {
        /// What verifies its signatures.
        public let publicKey: PublicKey
        private let key: Key

        /// A new key.
        ///
        /// - Throws: `CryptographyError`: without memory.
        public init() throws(CryptographyError) {
            // Any 32 bytes are a private key.
            var bytes = Unguessable.bytes(keySize)
            defer { OPENSSL_cleanse(&bytes, bytes.count) }
            try self.init(
                OpenSSL.attempt("make an Ed25519 key") {
                    EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, bytes, bytes.count).map(Key.init)
                }
            )
        }

        /// The key in PEM: PKCS #8 (`BEGIN PRIVATE KEY`) without a password, as `openssl genpkey -algorithm ed25519` writes it.
        ///
        /// - Throws: `CryptographyError` for anything else.
        public init(pem: String) throws(CryptographyError) {
            try self.init(
                OpenSSL.attempt("read an Ed25519 key") {
                    guard let key = Key.readPrivate(pem: pem), key.isEd25519 else { return nil }
                    return key
                }
            )
        }

        private init(_ key: Key) throws(CryptographyError) {
            self.key = key
            publicKey = try PublicKey(OpenSSL.attempt("read the public half of an Ed25519 key") { key.rawPublic(keySize) })
        }

        /// PKCS #8 in PEM.
        ///
        /// - Throws: `CryptographyError`: without memory.
        public func pem() throws(CryptographyError) -> String {
            try OpenSSL.attempt("write an Ed25519 key") { key.writePrivate() }
        }

        /// A signature, 64 bytes.
        ///
        /// - Throws: `CryptographyError`: without memory.
        public func signature(for message: some Collection<UInt8>) throws(CryptographyError) -> [UInt8] {
            try OpenSSL.attempt("sign") { key.signatureOfWhole(message, signatureSize) }
        }
    }
}

// Ed25519 hashes the message itself, twice, so it takes the whole of it instead of a hash.
extension Key {
    /// Whether it is a key of Ed25519.
    fileprivate var isEd25519: Bool { withPointer { EVP_PKEY_is_a($0, "ED25519") == 1 } }

    /// The public half as its algorithm encodes it; nil unless it has so many bytes.
    fileprivate func rawPublic(_ size: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: size)
        var count = size
        return withPointer { EVP_PKEY_get_raw_public_key($0, &bytes, &count) } == 1 && count == size ? bytes : nil
    }

    fileprivate func signatureOfWhole(_ message: some Collection<UInt8>, _ size: Int) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: size)
        var count = size
        let message = Array(message)
        let isSigned = withPointer { key in
            EVP_DigestSignInit(context, nil, nil, nil, key) == 1
                && EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        }
        return isSigned && count == size ? signature : nil
    }

    fileprivate func hasMadeWhole(_ signature: [UInt8], of message: some Collection<UInt8>) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        let message = Array(message)
        return withPointer { key in
            EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
                && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        }
    }
}
