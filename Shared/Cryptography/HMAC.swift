internal import COpenSSL

/// HMAC (RFC 2104) with SHA-256 and one key, made ready once: each code then costs two copies of a hash's state.
public struct HMACSHA256: Sendable {
    private let key: KeyedHash

    /// - Parameter key: Any number of bytes.
    public init(key: some Collection<UInt8>) { self.key = KeyedHash(OpenSSL.sha256, key: key) }

    /// The code of a message.
    public func code(for message: some Collection<UInt8>) -> SHA256Digest {
        SHA256Digest { key.write(codeFor: message, to: $0) }
    }

    /// Whether `code` is that of a message; compared in constant time.
    public func isValid(_ code: some Collection<UInt8>, for message: some Collection<UInt8>) -> Bool {
        let right = self.code(for: message)
        return code.count == right.count && zip(code, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// HMAC with SHA-1, for what prescribes it (RFC 6238). What is wrong with SHA-1 does not touch its HMAC.
public enum HMACSHA1 {
    /// The code of a message: 20 bytes.
    public static func code(for message: some Collection<UInt8>, key: some Collection<UInt8>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 20) { code, count in
            guard let start = code.baseAddress else { return }
            KeyedHash(OpenSSL.sha1, key: key).write(codeFor: message, to: start)
            count = 20
        }
    }
}

/// The states of both hashes of an HMAC after their first block, which is made of the key. OpenSSL's own HMAC takes twice the time.
///
/// `@unchecked Sendable`: nothing changes the states; they are copied. They are overwritten when they are freed.
private final class KeyedHash: @unchecked Sendable {
    /// Bytes of a block of SHA-1 and of SHA-256.
    private static let block = 64

    private let inner = OpenSSL.makeHash()
    private let outer = OpenSSL.makeHash()

    init(_ algorithm: OpaquePointer?, key: some Collection<UInt8>) {
        withUnsafeTemporaryAllocation(byteCount: Self.block, alignment: 1) { pad in
            pad.initializeMemory(as: UInt8.self, repeating: 0)
            defer { OPENSSL_cleanse(pad.baseAddress, pad.count) }
            withBytes(of: key) { key in
                guard key.count > Self.block else { return pad.copyMemory(from: key) }
                let start = pad.baseAddress?.assumingMemoryBound(to: UInt8.self)
                OpenSSL.require(EVP_Digest(key.baseAddress, key.count, start, nil, algorithm, nil) == 1)
            }
            for (state, mask) in [(inner, UInt8(0x36)), (outer, 0x36 ^ 0x5C)] {
                for index in pad.indices { pad[index] ^= mask }
                OpenSSL.require(EVP_DigestInit_ex2(state, algorithm, nil) == 1)
                OpenSSL.require(EVP_DigestUpdate(state, pad.baseAddress, pad.count) == 1)
            }
        }
    }

    deinit {
        EVP_MD_CTX_free(inner)
        EVP_MD_CTX_free(outer)
    }

    /// - Parameter code: room for a hash.
    func write(codeFor message: some Collection<UInt8>, to code: UnsafeMutablePointer<UInt8>) {
        let hash = OpenSSL.makeHash()
        defer { EVP_MD_CTX_free(hash) }
        var length = UInt32(0)
        withBytes(of: message) { message in
            OpenSSL.require(EVP_MD_CTX_copy_ex(hash, inner) == 1)
            OpenSSL.require(EVP_DigestUpdate(hash, message.baseAddress, message.count) == 1)
            OpenSSL.require(EVP_DigestFinal_ex(hash, code, &length) == 1)
        }
        OpenSSL.require(EVP_MD_CTX_copy_ex(hash, outer) == 1)
        OpenSSL.require(EVP_DigestUpdate(hash, code, Int(length)) == 1)
        OpenSSL.require(EVP_DigestFinal_ex(hash, code, nil) == 1)
    }
}
