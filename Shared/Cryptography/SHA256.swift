internal import COpenSSL

/// A hash or an authentication code of 32 bytes: no memory of its own, and cheap as a key of a dictionary.
public struct SHA256Digest: Hashable, Sendable, RandomAccessCollection {
    private var words = SIMD4<UInt64>()

    /// What `fill` writes into 32 bytes.
    init(_ fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        withUnsafeMutableBytes(of: &words) { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { bytes in if let start = bytes.baseAddress { fill(start) } }
        }
    }

    /// 0
    public var startIndex: Int { 0 }
    /// 32
    public var endIndex: Int { 32 }

    /// A byte.
    public subscript(index: Int) -> UInt8 { withUnsafeBytes(of: words) { $0[index] } }

    /// The bytes, where they lie.
    public func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try withUnsafeBytes(of: words) { try $0.withMemoryRebound(to: UInt8.self, body) }
    }

    /// Compares in a time that does not depend on where the two differ.
    public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        let difference = left.words ^ right.words
        return difference.x | difference.y | difference.z | difference.w == 0
    }

    /// Hashes all 32 bytes.
    public func hash(into hasher: inout Hasher) { for index in words.indices { hasher.combine(words[index]) } }
}

/// SHA-256 (FIPS 180-4) of bytes that come in pieces.
///
/// `@unchecked Sendable`: it has one owner, and only functions that change it use the memory it refers to.
public struct SHA256: ~Copyable, @unchecked Sendable {
    private let context: OpaquePointer?

    /// A hash of nothing yet.
    public init() {
        context = OpenSSL.makeHash()
        start()
    }

    deinit { EVP_MD_CTX_free(context) }

    private func start() { OpenSSL.require(EVP_DigestInit_ex2(context, OpenSSL.sha256, nil) == 1) }

    /// Adds bytes.
    public mutating func update(data: some Collection<UInt8>) { withBytes(of: data) { update(bufferPointer: $0) } }

    /// Adds bytes.
    public mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
        OpenSSL.require(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1)
    }

    /// The hash of all bytes. Afterwards it is one of nothing again.
    public mutating func finalize() -> SHA256Digest {
        defer { start() }
        return SHA256Digest { OpenSSL.require(EVP_DigestFinal_ex(context, $0, nil) == 1) }
    }

    /// The hash of bytes.
    public static func hash(data: some Collection<UInt8>) -> SHA256Digest {
        withBytes(of: data) { bytes in
            SHA256Digest { OpenSSL.require(EVP_Digest(bytes.baseAddress, bytes.count, $0, nil, OpenSSL.sha256, nil) == 1) }
        }
    }
}
