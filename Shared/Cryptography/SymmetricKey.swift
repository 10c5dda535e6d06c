internal import COpenSSL
internal import Glibc

/// A secret key of 32 bytes. It is overwritten when its last copy is released, and printing shows nothing of it.
public struct SymmetricKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// Bytes of a key.
    static let size = 32

    private let storage: Storage

    /// A given key.
    ///
    /// - Throws: `CryptographyError` unless there are 32 bytes.
    public init(_ bytes: some Collection<UInt8>) throws(CryptographyError) {
        guard bytes.count == Self.size else { throw CryptographyError(description: "a symmetric key has 32 bytes") }
        storage = Storage(bytes)
    }

    /// A key for one purpose: HKDF-SHA256 (RFC 5869) of a secret, without salt.
    ///
    /// - Parameters:
    ///   - secret: Any number of bytes that no one can guess.
    ///   - info: The purpose; another one gives a key that says nothing about this one.
    public init(derivedFrom secret: some Collection<UInt8>, info: some Collection<UInt8>) {
        storage = Storage(HKDF.bytes(from: secret, salt: [], info: Array(info), count: Self.size))
    }

    public var description: String { "SymmetricKey" }
    /// Reflection shows no part of it.
    public var customMirror: Mirror { Mirror(self, children: []) }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(storage.bytes))
    }

    /// `@unchecked Sendable`: nothing changes the bytes.
    private final class Storage: @unchecked Sendable {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: SymmetricKey.size, alignment: 8)

        init(_ key: some Collection<UInt8>) { bytes.copyBytes(from: key) }

        deinit {
            OPENSSL_cleanse(bytes.baseAddress, bytes.count)
            bytes.deallocate()
        }
    }
}

/// HKDF with SHA-256 (RFC 5869).
enum HKDF {
    private static let withoutSalt = HMACSHA256(key: [])

    /// - Parameter count: 1 to 8,160.
    static func bytes(from secret: some Collection<UInt8>, salt: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        let extractor = salt.isEmpty ? withoutSalt : HMACSHA256(key: salt)
        let expander = HMACSHA256(key: extractor.code(for: secret))
        var bytes: [UInt8] = []
        var block: [UInt8] = []
        for number in 1...UInt8((count + 31) / 32) {
            block = Array(expander.code(for: block + info + [number]))
            bytes += block
        }
        return Array(bytes.prefix(count))
    }
}

/// The system's secure generator.
public enum Unguessable {
    /// Bytes that no one can guess.
    public static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
            while filled < count {
                let rest = bytes[filled...].prefix(256)
                // It fails only for more than 256 bytes.
                precondition(getentropy(UnsafeMutableBufferPointer(rebasing: rest).baseAddress, rest.count) == 0)
                filled += rest.count
            }
        }
    }
}
