internal import COpenSSL

/// Signatures by RSA with PKCS #1 v1.5 over SHA-256, as JWTs have them (RS256, RFC 7518).
public enum RSA {
    /// A public key.
    public struct PublicKey: Sendable {
        /// Bits that a modulus may have: weaker ones can be broken, and stronger ones would let who publishes them make us compute.
        public static let bits = 2_048...8_192

        /// The modulus, most significant byte first.
        public let modulus: [UInt8]
        /// The public exponent, most significant byte first.
        public let exponent: [UInt8]
        private let key: Key

        /// A key from its two numbers, most significant byte first.
        ///
        /// - Throws: `CryptographyError` unless the modulus is odd and has 2,048 to 8,192 bits, and the exponent is odd, above 1 and has at
        ///   most 33 bits.
        public init(modulus: [UInt8], exponent: [UInt8]) throws(CryptographyError) {
            let parts = [modulus, exponent].map { Array($0.drop { $0 == 0 }) }
            let value = parts[1].prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard let first = parts[0].first, let last = parts[0].last, last % 2 == 1,
                Self.bits.contains(parts[0].count * 8 - first.leadingZeroBitCount), parts[1].count <= 5,
                value % 2 == 1, (2..<1 << 33).contains(value)
            else { throw CryptographyError(description: "an RSA key has numbers that are too small, too large or even") }
            (self.modulus, self.exponent) = (parts[0], parts[1])
            key = try OpenSSL.attempt("use numbers as an RSA key") {
                let numbers = parts.map { BN_bin2bn($0, Int32($0.count), nil) }
                defer { for number in numbers { BN_free(number) } }
                return copenssl_rsa_public_key(numbers[0], numbers[1]).map(Key.init)
            }
        }

        /// Whether the private key has signed a message.
        public func isValid(_ signature: [UInt8], for message: some Collection<UInt8>) -> Bool {
            let isValid: Bool? = try? OpenSSL.attempt("verify") { key.hasMade(signature, of: message) }
            return isValid ?? false
        }
    }

    /// A private key, for what stands for an issuer.
    public struct PrivateKey: Sendable {
        /// What verifies its signatures.
        public let publicKey: PublicKey
        private let key: Key

        /// A new key of 2,048 bits, which takes a tenth of a second.
        ///
        /// - Throws: `CryptographyError`: without memory or randomness.
        public init() throws(CryptographyError) {
            let key = try OpenSSL.attempt("make an RSA key") { copenssl_make_rsa(2_048).map(Key.init) }
            let numbers = try OpenSSL.attempt("read an RSA key") { () -> (n: [UInt8], e: [UInt8])? in
                guard let n = key.number(OSSL_PKEY_PARAM_RSA_N), let e = key.number(OSSL_PKEY_PARAM_RSA_E) else { return nil }
                return (n, e)
            }
            self.key = key
            publicKey = try PublicKey(modulus: numbers.n, exponent: numbers.e)
        }

        /// A signature, as long as the modulus.
        ///
        /// - Throws: `CryptographyError`: without memory.
        public func signature(for message: some Collection<UInt8>) throws(CryptographyError) -> [UInt8] {
            try OpenSSL.attempt("sign") { key.signature(of: message) }
        }
    }
}
