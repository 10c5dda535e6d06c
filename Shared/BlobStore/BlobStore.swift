public import Kernel

/// Stores photos, videos and renditions (D4): in a local folder, or in any S3-compatible store.
///
/// A blob appears whole or not at all, and is durable when `put`, `copy` or `move` returns. It is never changed in place: writing a
/// key again replaces it atomically, and a reader of the old bytes gets only old bytes.
///
/// Every method throws `ServiceError`: `NOT_FOUND`; `STORAGE_FULL`, `STORAGE_UNAVAILABLE` and, when the store refuses us,
/// `STORAGE_DENIED` (code `unavailable`; the cause is in the log); those named at a method; and `CancellationError`.
public protocol BlobStore: Sendable {
    /// Stores bytes as they arrive, in constant memory.
    ///
    /// - Parameters:
    ///   - key: The key of the blob.
    ///   - chunks: The bytes; an error thrown by it is passed on, and nothing is stored.
    ///   - limit: The most bytes accepted.
    /// - Throws: `FILE_TOO_LARGE` above `limit` bytes.
    /// - Returns: Size, time and SHA-256 of what was stored.
    func put<Chunks: AsyncSequence & Sendable>(_ key: BlobKey, from chunks: Chunks, limit: Int64) async throws -> StoredBlob
    where Chunks.Element: Collection<UInt8>

    /// Opens a blob.
    ///
    /// - Parameter range: The requested bytes, from 0; may end after the blob. Nil: all.
    /// - Throws: `NOT_FOUND`; `RANGE_NOT_SATISFIABLE` when the range begins at or after the end of a blob that is not empty.
    func get(_ key: BlobKey, range: Range<Int64>?) async throws -> Blob

    /// All bytes of a blob, for small ones.
    ///
    /// - Throws: `FILE_TOO_LARGE` when it has more than `limit` bytes.
    func read(_ key: BlobKey, limit: Int64) async throws -> [UInt8]

    /// Size and time of a blob; nil when there is none.
    func info(of key: BlobKey) async throws -> BlobInfo?

    /// Deletes a blob; a missing one is no error.
    func delete(_ key: BlobKey) async throws

    /// Makes a second blob with the same bytes and the present time.
    func copy(_ source: BlobKey, to destination: BlobKey) async throws

    /// Gives a blob another key and the present time, so that a collection of old blobs keeps it.
    func move(_ source: BlobKey, to destination: BlobKey) async throws

    /// A page of the blobs whose key begins with `prefix`, in byte order of their keys.
    ///
    /// For garbage collection: delete blobs that are older than a grace period and have no row.
    ///
    /// - Parameters:
    ///   - prefix: Empty for all; `incoming/` for a folder.
    ///   - after: The last key of the page before.
    ///   - limit: 1…1000.
    func list(prefix: String, after: BlobKey?, limit: Int) async throws -> [BlobInfo]

    /// What a client sends to store one file in the store itself, without the gateway; nil when the store cannot be reached by clients.
    ///
    /// The store refuses another size, type or content, but who uses the file checks it again: not every store verifies all of them.
    ///
    /// - Parameters:
    ///   - file: The only file that it takes.
    ///   - key: Where the file will be; it may be sent again, and replaces the one before.
    ///   - seconds: How long it is valid, 1…604,800.
    func directUpload(of file: ExpectedUpload, to key: BlobKey, seconds: Int64) -> DirectUpload?
}

extension BlobStore {
    public func directUpload(of file: ExpectedUpload, to key: BlobKey, seconds: Int64) -> DirectUpload? { nil }

    /// Stores bytes in memory.
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

/// Key, size and time of a blob.
public struct BlobInfo: Sendable, Equatable {
    /// Its key.
    public var key: BlobKey
    /// Its size in bytes.
    public var size: Int64
    /// When it was stored, copied or moved here.
    public var modified: Instant

    /// The properties of a blob.
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
    /// Of the whole blob, for any range.
    public var info: BlobInfo
    /// The range of `body` within the blob.
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

/// The bytes of a blob, in chunks that are read on demand.
public struct BlobBody: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    private let read: @Sendable () async throws -> [UInt8]?

    /// A body from a closure that returns the next chunk, and nil at the end.
    public init(_ read: @escaping @Sendable () async throws -> [UInt8]?) { self.read = read }

    public func makeAsyncIterator() -> Iterator { Iterator(read: read) }

    /// Returns the chunks in order.
    public struct Iterator: AsyncIteratorProtocol {
        let read: @Sendable () async throws -> [UInt8]?

        public mutating func next() async throws -> [UInt8]? { try await read() }
    }
}

/// The errors of a blob store for callers of the API.
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
