internal import COpenSSL

/// A key of OpenSSL's, private or public.
///
/// `@unchecked Sendable`: nothing changes it once it is made. Private numbers are overwritten when it is freed.
final class Key: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// Takes over what a call has made.
    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// What calls of the library take; for the time of the call only.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result { body(pointer) }

    /// A private key in PEM, without a password.
    static func readPrivate(pem: String) -> Key? {
        var text = pem
        return text.withUTF8 { text in
            guard let file = BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count)) else { return nil }
            defer { BIO_free(file) }
            // Without this function OpenSSL would ask at the terminal for the password of an encrypted key.
            return PEM_read_bio_PrivateKey(file, nil, { _, _, _, _ in -1 }, nil).map(Key.init)
        }
    }

    /// PKCS #8 in PEM.
    func writePrivate() -> String? {
        guard let file = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(file) }
        guard PEM_write_bio_PKCS8PrivateKey(file, pointer, nil, nil, 0, nil, nil) == 1 else { return nil }
        let count = BIO_ctrl_pending(file)
        var read = 0
        let text = String(unsafeUninitializedCapacity: count) { text in
            read = Int(BIO_read(file, text.baseAddress, Int32(clamping: text.count)))
            return max(0, min(read, count))
        }
        return read == count ? text : nil
    }

    /// Whether private and public part belong together and are what the algorithm allows.
    var isSound: Bool { check(EVP_PKEY_check) }

    /// Whether the public part is what the algorithm allows.
    var isPublicPartSound: Bool { check(EVP_PKEY_public_check) }

    private func check(_ check: (OpaquePointer) -> Int32) -> Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        return check(context) == 1
    }

    /// Whether it is a key of an elliptic curve.
    func isOn(curve: String) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        return EVP_PKEY_is_a(pointer, "EC") == 1 && EVP_PKEY_get_group_name(pointer, &name, name.count, &length) == 1
            && name.prefix(length).elementsEqual(curve.utf8CString.dropLast())
    }

    /// A number of it, most significant byte first.
    ///
    /// - Parameter width: bytes that it is filled up to with zeros; nil: as many as it needs.
    func number(_ name: String, width: Int? = nil) -> [UInt8]? {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1 else { return nil }
        defer { BN_clear_free(number) }
        let width = width ?? Int(BN_num_bits(number) + 7) / 8
        var bytes = [UInt8](repeating: 0, count: width)
        return BN_bn2binpad(number, &bytes, Int32(width)) == width ? bytes : nil
    }

    /// A signature over the SHA-256 of a message; with RSA by PKCS #1 v1.5.
    func signature(of message: some Collection<UInt8>) -> [UInt8]? {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var length = Int(EVP_PKEY_get_size(pointer))
        guard EVP_PKEY_sign_init(context) == 1, setUp(context), length > 0 else { return nil }
        var signature = [UInt8](repeating: 0, count: length)
        let hash = Array(SHA256.hash(data: message))
        return EVP_PKEY_sign(context, &signature, &length, hash, hash.count) == 1 ? Array(signature.prefix(length)) : nil
    }

    /// Whether it has made a signature, as `signature` makes them.
    func hasMade(_ signature: [UInt8], of message: some Collection<UInt8>) -> Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_verify_init(context) == 1, setUp(context) else { return false }
        let hash = Array(SHA256.hash(data: message))
        return EVP_PKEY_verify(context, signature, signature.count, hash, hash.count) == 1
    }

    /// What RSA has to be given. ECDSA needs no name of the hash, and would take half as long again to look for it.
    private func setUp(_ context: OpaquePointer) -> Bool {
        EVP_PKEY_get_base_id(pointer) != EVP_PKEY_RSA
            || EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
                && EVP_PKEY_CTX_set_signature_md(context, OpenSSL.sha256) == 1
    }
}
