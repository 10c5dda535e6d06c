internal import COpenSSL

/// Why a key, a signature or a sealed message cannot be used or made. It holds no secret.
public struct CryptographyError: Error, Hashable, CustomStringConvertible {
    /// What failed, and OpenSSL's word for the reason if it gave one.
    public let description: String
}

/// What all calls of the library have in common.
enum OpenSSL {
    // Fetched once: a search by name takes longer than hashing a token. The library counts references to them atomically.
    nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
    nonisolated(unsafe) static let sha1 = EVP_MD_fetch(nil, "SHA1", nil)
    nonisolated(unsafe) static let chaChaPoly = EVP_CIPHER_fetch(nil, "ChaCha20-Poly1305", nil)

    /// Calls the library. What the calls leave in the thread's queue of errors is removed, for libpq and libcurl look there for their own.
    ///
    /// - Parameters:
    ///   - task: what the error says was tried.
    ///   - body: nil when a call failed.
    static func attempt<Result>(_ task: String, _ body: () -> Result?) throws(CryptographyError) -> Result {
        defer { ERR_clear_error() }
        if let result = body() { return result }
        let reason = ERR_reason_error_string(ERR_peek_last_error()).map { ": \(String(cString: $0))" } ?? ""
        throw CryptographyError(description: "OpenSSL could not \(task)\(reason)")
    }

    /// Room for a hash that is computed; the caller frees it.
    static func makeHash() -> OpaquePointer? {
        let hash = EVP_MD_CTX_new()
        require(hash != nil)
        return hash
    }

    /// Stops the process when something failed that fails only without memory or with a broken library: a wrong hash must not be used.
    static func require(_ isDone: Bool) { precondition(isDone, "OpenSSL has no memory left, or lacks an algorithm") }
}

/// The bytes of a collection at one place in memory: without a copy if they lie so.
func withBytes<Result>(of data: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    data.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) } ?? Array(data).withUnsafeBytes(body)
}
