public import Kernel

/// Where photos, videos and renditions live (D4): a local folder, or any store that has S3's operations.
///
/// A blob appears whole or not at all, is durable when `put`, `copy` or `move` returns, and is never changed in place: writing a
/// key again replaces it at once, and who is reading the old bytes reads no others.
///
/// Every method throws `ServiceError`: `NOT_FOUND`; `STORAGE_FULL`, `STORAGE_UNAVAILABLE` and, when the store refuses us,
/// `STORAGE_DENIED` (code `unavailable`; the cause is in the log); those named at a method; and `CancellationError`.
public protocol BlobStore: Sendable {
    /// Stores bytes as they arrive, in constant memory.
    ///
    /// - Parameters:
    ///   - key: Under which they can be found.
    ///   - chunks: The bytes; an error thrown by it is passed on, and nothing is left behind.
    ///   - limit: The most bytes accepted.
    /// - Throws: `FILE_TOO_LARGE` as soon as there are more than `limit` bytes.
    /// - Returns: Size, time and SHA-256 of what was stored.
    func put<Chunks: AsyncSequence & Sendable>(_ key: BlobKey, from chunks: Chunks, limit: Int64) async throws -> StoredBlob
    where Chunks.Element: Collection<UInt8>

    /// Opens a blob.
    ///
    /// - Parameter range: The bytes wanted, counted from 0; its end may lie beyond the blob's. Nil for all.
    /// - Throws: `NOT_FOUND`; `RANGE_NOT_SATISFIABLE` when the range begins at or beyond the end of a blob that is not empty.
    func get(_ key: BlobKey, range: Range<Int64>?) async throws -> Blob

    /// All bytes of a blob, for small ones.
    ///
    /// - Throws: `FILE_TOO_LARGE` when it has more than `limit` bytes.
    func read(_ key: BlobKey, limit: Int64) async throws -> [UInt8]

    /// Size and time of a blob; nil when there is none.
    func info(of key: BlobKey) async throws -> BlobInfo?

    /// Removes a blob; one that is not there is no error.
    func delete(_ key: BlobKey) async throws

    /// Makes a second blob with the same bytes and the time of now.
    func copy(_ source: BlobKey, to destination: BlobKey) async throws

    /// Gives a blob another key and the time of now, so that a collector of old blobs spares it.
    func move(_ source: BlobKey, to destination: BlobKey) async throws

    /// A page of the blobs whose key begins with `prefix`, in byte order of their keys.
    ///
    /// A collector of garbage pages through a prefix and deletes what is older than its grace and known to nobody.
    ///
    /// - Parameters:
    ///   - prefix: Empty for all; `incoming/` for a folder.
    ///   - after: The last key of the page before.
    ///   - limit: 1…1000.
    func list(prefix: String, after: BlobKey?, limit: Int) async throws -> [BlobInfo]
}

extension BlobStore {
    /// Stores bytes that are in memory.
    @discardableResult
    public func put(_ key: BlobKey, _ bytes: [UInt8]) async throws -> StoredBlob {
        let chunks = AsyncStream { continuation in
            continuation.yield(bytes)
            continuation.finish()
        }
        return try await put(key, from: chunks, limit: Int64(bytes.count))
    }

    /// All bytes of a blob, piece by piece.
    public func read(_ key: BlobKey, limit: Int64) async throws -> [UInt8] {
        let blob = try await get(key, range: nil)
        guard blob.info.size <= limit else { throw BlobError.tooLarge(limit) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(blob.info.size))
        for try await chunk in blob.body { bytes += chunk }
        return bytes
    }
}

/// What is known of a blob without reading it.
public struct BlobInfo: Sendable, Equatable {
    /// Its key.
    public var key: BlobKey
    /// Its size in bytes.
    public var size: Int64
    /// When it was stored, copied or moved here.
    public var modified: Instant

    /// What is known of a blob.
    public init(key: BlobKey, size: Int64, modified: Instant) {
        self.key = key
        self.size = size
        self.modified = modified
    }
}

/// What `put` stored.
public struct StoredBlob: Sendable, Equatable {
    /// Key, size and time.
    public var info: BlobInfo
    /// SHA-256 of the bytes, 32 bytes.
    public var sha256: [UInt8]

    /// What `put` stored.
    public init(info: BlobInfo, sha256: [UInt8]) {
        self.info = info
        self.sha256 = sha256
    }
}

/// An opened blob.
public struct Blob: Sendable {
    /// Of the whole blob, whatever range was asked for.
    public var info: BlobInfo
    /// The bytes that `body` gives, within the blob.
    public var range: Range<Int64>
    /// The bytes; can be read once.
    public var body: BlobBody

    /// An opened blob.
    public init(info: BlobInfo, range: Range<Int64>, body: BlobBody) {
        self.info = info
        self.range = range
        self.body = body
    }
}

/// The bytes of a blob, in chunks that are read when they are asked for.
public struct BlobBody: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    private let read: @Sendable () async throws -> [UInt8]?

    /// A body from what gives the next chunk, and nil at the end.
    public init(_ read: @escaping @Sendable () async throws -> [UInt8]?) { self.read = read }

    public func makeAsyncIterator() -> Iterator { Iterator(read: read) }

    /// Gives the chunks in order.
    public struct Iterator: AsyncIteratorProtocol {
        let read: @Sendable () async throws -> [UInt8]?

        public mutating func next() async throws -> [UInt8]? { try await read() }
    }
}

/// The errors of a blob store, as callers of the API see them.
enum BlobError {
    static func tooLarge(_ limit: Int64) -> ServiceError {
        ServiceError(.invalidArgument, "FILE_TOO_LARGE", "The file is larger than \(limit) bytes.")
    }
    static let full = ServiceError(.unavailable, "STORAGE_FULL", "There is no room left to store files.", retryAfter: 60)
    static let unavailable = ServiceError(
        .unavailable,
        "STORAGE_UNAVAILABLE",
        "Files cannot be stored or read right now.",
        retryAfter: 5
    )
    static let denied = ServiceError(
        .unavailable,
        "STORAGE_DENIED",
        "Files cannot be stored or read right now.",
        retryAfter: 60
    )
    static let conflict = ServiceError(
        .failedPrecondition,
        "KEY_CONFLICT",
        "A blob and a folder of blobs cannot have the same key."
    )
    static let range = ServiceError(.outOfRange, "RANGE_NOT_SATISFIABLE", "The file ends before that range.")
}
