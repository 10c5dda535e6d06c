internal import COpenSSL

/// Signatures by ECDSA on the curve P-256 over SHA-256 (FIPS 186-5), as JWTs have them (ES256, RFC 7518).
public enum P256 {
    static let curve = "prime256v1"
    /// Bytes of a coordinate, and of each half of a signature.
    static let size = 32

    /// A public key.
    public struct PublicKey: Sendable, Hashable {
        /// A coordinate: 32 bytes, most significant first.
        public let x: [UInt8]
        /// A coordinate: 32 bytes, most significant first.
        public let y: [UInt8]
        private let key: Key

        /// The key at a point.
        ///
        /// - Parameters:
        ///   - x: 32 bytes, most significant first.
        ///   - y: 32 bytes, most significant first.
        /// - Throws: `CryptographyError` for what is no point of the curve.
        public init(x: [UInt8], y: [UInt8]) throws(CryptographyError) {
            let point = [4] + x + y
            key = try OpenSSL.attempt("use a point as a P-256 key") {
                guard x.count == size, y.count == size else { return nil }
                let key = copenssl_p256_public_key(point, point.count).map(Key.init)
                return key?.isPublicPartSound == true ? key : nil
            }
            (self.x, self.y) = (x, y)
        }

        /// Whether the private key has signed a message.
        ///
        /// - Parameter signature: r and s: 64 bytes; anything else is no signature.
        public func isValid(_ signature: [UInt8], for message: some Collection<UInt8>) -> Bool {
            let isValid: Bool? = try? OpenSSL.attempt("verify") {
                encoded(signature).map { key.hasMade($0, of: message) }
            }
            return isValid ?? false
        }

        /// Whether the coordinates are the same.
        public static func == (left: PublicKey, right: PublicKey) -> Bool { left.x == right.x && left.y == right.y }

        /// Hashes the coordinates.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(x)
            hasher.combine(y)
        }
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
            try self.init(OpenSSL.attempt("make a P-256 key") { copenssl_make_p256().map(Key.init) })
        }

        /// The key in PEM: PKCS #8 (`BEGIN PRIVATE KEY`) or SEC 1 (`BEGIN EC PRIVATE KEY`), without a password.
        ///
        /// - Throws: `CryptographyError` for anything else, and for a key whose parts do not belong together.
        public init(pem: String) throws(CryptographyError) {
            try self.init(
                OpenSSL.attempt("read a P-256 key") {
                    guard let key = Key.readPrivate(pem: pem), key.isOn(curve: curve), key.isSound else { return nil }
                    return key
                }
            )
        }

        private init(_ key: Key) throws(CryptographyError) {
            let point = try OpenSSL.attempt("read the point of a P-256 key") { () -> (x: [UInt8], y: [UInt8])? in
                guard let x = key.number(OSSL_PKEY_PARAM_EC_PUB_X, width: size),
                    let y = key.number(OSSL_PKEY_PARAM_EC_PUB_Y, width: size)
                else { return nil }
                return (x, y)
            }
            self.key = key
            publicKey = try PublicKey(x: point.x, y: point.y)
        }

        /// PKCS #8 in PEM.
        ///
        /// - Throws: `CryptographyError`: without memory.
        public func pem() throws(CryptographyError) -> String {
            try OpenSSL.attempt("write a P-256 key") { key.writePrivate() }
        }

        /// A signature: r and s, 64 bytes.
        ///
        /// - Throws: `CryptographyError`: without memory or randomness.
        public func signature(for message: some Collection<UInt8>) throws(CryptographyError) -> [UInt8] {
            try OpenSSL.attempt("sign") { key.signature(of: message).flatMap(decoded) }
        }
    }

    /// r and s as OpenSSL takes them: a sequence of two numbers in DER; nil unless they have 64 bytes.
    private static func encoded(_ signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 2 * size, let pair = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let (r, s) = signature.withUnsafeBufferPointer { bytes in
            (BN_bin2bn(bytes.baseAddress, Int32(size), nil), BN_bin2bn(bytes.baseAddress.map { $0 + size }, Int32(size), nil))
        }
        guard ECDSA_SIG_set0(pair, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        // Two numbers of up to 33 bytes, and two bytes before each and before all.
        var bytes = [UInt8](repeating: 0, count: 2 * (size + 3) + 2)
        let count = bytes.withUnsafeMutableBufferPointer { bytes in
            var end = bytes.baseAddress
            return i2d_ECDSA_SIG(pair, &end)
        }
        return count > 0 ? Array(bytes.prefix(Int(count))) : nil
    }

    private static func decoded(_ signature: [UInt8]) -> [UInt8]? {
        let made = signature.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &start, bytes.count)
        }
        guard let pair = made else { return nil }
        defer { ECDSA_SIG_free(pair) }
        var bytes = [UInt8](repeating: 0, count: 2 * size)
        let isWhole = bytes.withUnsafeMutableBufferPointer { bytes in
            BN_bn2binpad(ECDSA_SIG_get0_r(pair), bytes.baseAddress, Int32(size)) == size
                && BN_bn2binpad(ECDSA_SIG_get0_s(pair), bytes.baseAddress.map { $0 + size }, Int32(size)) == size
        }
        return isWhole ? bytes : nil
    }
}
