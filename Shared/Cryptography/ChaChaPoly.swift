internal import COpenSSL

/// ChaCha20-Poly1305 (RFC 8439): hides bytes, and shows whether they were changed.
///
/// A sealed message is the nonce (12 bytes), the encrypted bytes and the tag (16 bytes), in this order. Nonces are random: one key is good
/// for some billion messages.
public enum ChaChaPoly {
    private static let nonceSize = 12
    private static let tagSize = 16

    /// Seals a message.
    ///
    /// - Parameter context: What the message belongs to. It is not part of the result, and opening needs the same.
    /// - Throws: `CryptographyError`: without memory.
    public static func seal(
        _ message: [UInt8],
        using key: SymmetricKey,
        authenticating context: [UInt8] = []
    ) throws(CryptographyError) -> [UInt8] {
        try seal(message, using: key, nonce: Unguessable.bytes(nonceSize), authenticating: context)
    }

    static func seal(
        _ message: [UInt8],
        using key: SymmetricKey,
        nonce: [UInt8],
        authenticating context: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        var sealed = nonce
        sealed.reserveCapacity(nonceSize + message.count + tagSize)
        var tag = [UInt8](repeating: 0, count: tagSize)
        sealed += try run(message, key, nonce, context, encrypts: true, tag: &tag)
        return sealed + tag
    }

    /// The message that was sealed.
    ///
    /// - Throws: `CryptographyError` for bytes that were not sealed with this key and this context, or were changed.
    public static func open(
        _ sealed: [UInt8],
        using key: SymmetricKey,
        authenticating context: [UInt8] = []
    ) throws(CryptographyError) -> [UInt8] {
        guard sealed.count >= nonceSize + tagSize else { throw CryptographyError(description: "a sealed message is too short") }
        var tag = Array(sealed.suffix(tagSize))
        let message = Array(sealed.dropFirst(nonceSize).dropLast(tagSize))
        return try run(message, key, Array(sealed.prefix(nonceSize)), context, encrypts: false, tag: &tag)
    }

    /// Encrypts and writes the tag, or decrypts and compares it.
    private static func run(
        _ input: [UInt8],
        _ key: SymmetricKey,
        _ nonce: [UInt8],
        _ context: [UInt8],
        encrypts: Bool,
        tag: inout [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        guard let size = Int32(exactly: input.count), let contextSize = Int32(exactly: context.count) else {
            throw CryptographyError(description: "a sealed message has at most 2 GiB")
        }
        return try OpenSSL.attempt(encrypts ? "seal" : "open") {
            guard let cipher = EVP_CIPHER_CTX_new() else { return nil }
            defer { EVP_CIPHER_CTX_free(cipher) }
            var written = Int32(0)
            let isReady = key.withBytes { key in
                let key = key.bindMemory(to: UInt8.self).baseAddress
                return EVP_CipherInit_ex2(cipher, OpenSSL.chaChaPoly, key, nonce, encrypts ? 1 : 0, nil) == 1
            }
            guard isReady, EVP_CipherUpdate(cipher, nil, &written, context, contextSize) == 1 else { return nil }
            if !encrypts {
                guard EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(tagSize), &tag) == 1 else { return nil }
            }
            var isDone = false
            let output = [UInt8](unsafeUninitializedCapacity: input.count) { output, count in
                var rest = Int32(0)
                // Bytes whose tag is wrong are not returned.
                isDone =
                    EVP_CipherUpdate(cipher, output.baseAddress, &written, input, size) == 1
                    && EVP_CipherFinal_ex(cipher, output.baseAddress.map { $0 + Int(written) }, &rest) == 1
                count = isDone ? Int(written + rest) : 0
            }
            guard isDone, output.count == input.count else { return nil }
            if encrypts {
                guard EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(tagSize), &tag) == 1 else { return nil }
            }
            return output
        }
    }
}
