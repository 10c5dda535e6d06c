private import Glibc
internal import Kernel
public import Logging
private import Synchronization
private import WorkPool

/// Blobs as files in a folder, which several processes of one machine may share.
///
/// A blob is written to a temporary file, synced, and renamed into place, and its folder is synced (PH-3: a 2xx means that the
/// bytes are durable). Files are read and written on a few threads of their own.
public final class LocalBlobStore: BlobStore {
    /// Bytes that are read or written at once.
    static let chunkSize = 128 * 1024

    /// The folder of the blobs.
    public let folder: String
    private let temporary: String
    private let minimumFree: Int64
    private let pool: WorkPool
    private let logger: Logger

    /// A store; no file is used before the first call.
    ///
    /// - Parameters:
    ///   - folder: Created if missing.
    ///   - minimumFree: Uploads are refused with `STORAGE_FULL` while the disk has fewer free bytes, so that PostgreSQL and NATS on
    ///     the same disk continue to work. 64 MiB by default.
    ///   - threads: Files read or written at once.
    ///   - logger: Logs the causes of failures.
    public init(folder: String, minimumFree: Int64 = 64 << 20, threads: Int = 4, logger: Logger) {
        let trimmed = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        self.folder = trimmed
        self.temporary = "\(trimmed)/.temporary"
        self.minimumFree = minimumFree
        self.pool = WorkPool(name: "blobs", threads: threads, queueLimit: 256, refusal: BlobError.unavailable)
        self.logger = logger
    }

    /// Creates the folder, checks that it can be written, and deletes files of uploads that a crash interrupted.
    public func prepare() async throws {
        try await run { [temporary] in
            _ = try BlobWriter(in: temporary)
            try BlobWriter.sweep(temporary)
        }
    }

    public func put<Chunks: AsyncSequence & Sendable>(_ key: BlobKey, from chunks: Chunks, limit: Int64) async throws
        -> StoredBlob
    where Chunks.Element: Collection<UInt8> {
        let writer = try await run { [folder, temporary, minimumFree] in
            let writer = try BlobWriter(in: temporary)
            var space = statvfs()
            guard statvfs(folder, &space) == 0 else { throw FileError.last("statvfs", folder) }
            guard Int64(clamping: UInt64(space.f_bavail) * UInt64(space.f_frsize)) >= minimumFree else {
                throw FileError(call: "put", path: folder, code: ENOSPC)
            }
            return writer
        }
        do {
            return try await write(chunks, to: key, with: writer, limit: limit)
        } catch {
            // Not on the pool, which refuses work of a cancelled task; it is one short call.
            writer.abandon()
            throw error
        }
    }

    private func write<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks,
        to key: BlobKey,
        with writer: BlobWriter,
        limit: Int64
    ) async throws -> StoredBlob where Chunks.Element: Collection<UInt8> {
        var buffer: [UInt8] = []
        var size: Int64 = 0
        for try await chunk in chunks {
            size += Int64(chunk.count)
            guard size <= limit else { throw BlobError.tooLarge(limit) }
            buffer.append(contentsOf: chunk)
            if buffer.count >= Self.chunkSize {
                let bytes = buffer
                buffer = []
                try await run { try writer.write(bytes) }
            }
        }
        // A sequence may end early without an error because its task was cancelled.
        try Task.checkCancellation()
        let (rest, path) = (buffer, path(of: key))
        let stored = try await run {
            try writer.write(rest)
            return try writer.commit(to: path)
        }
        return StoredBlob(info: BlobInfo(key: key, size: stored.size, modified: stored.modified), sha256: stored.sha256)
    }

    public func get(_ key: BlobKey, range: Range<Int64>?) async throws -> Blob {
        let path = path(of: key)
        let reader = try await run { try BlobReader(path) }
        let info = BlobInfo(key: key, size: reader.size, modified: reader.modified)
        let whole = 0..<reader.size
        guard let range else { return blob(info, whole, reader) }
        guard range.lowerBound >= 0, range.lowerBound < reader.size || (reader.size == 0 && range.lowerBound == 0) else {
            throw BlobError.range
        }
        return blob(info, range.clamped(to: whole), reader)
    }

    public func info(of key: BlobKey) async throws -> BlobInfo? {
        let path = path(of: key)
        return try await run {
            var status = stat()
            if stat(path, &status) == 0 {
                guard status.st_mode & S_IFMT == S_IFREG else { return nil }
                return BlobInfo(key: key, size: Int64(status.st_size), modified: status.modified)
            }
            guard errno == ENOENT || errno == ENOTDIR else { throw FileError.last("stat", path) }
            return nil
        }
    }

    public func delete(_ key: BlobKey) async throws {
        let path = path(of: key)
        try await run { [folder] in
            guard unlink(path) == 0 else {
                if [ENOENT, ENOTDIR, EISDIR].contains(errno) { return }
                throw FileError.last("unlink", path)
            }
            Self.removeEmptyFolders(above: path, upTo: folder)
        }
    }

    public func copy(_ source: BlobKey, to destination: BlobKey) async throws {
        let (from, to) = (path(of: source), path(of: destination))
        try await run { [temporary] in
            let reader = try BlobReader(from)
            let writer = try BlobWriter(in: temporary)
            var offset: Int64 = 0
            while case let bytes = try reader.read(at: offset, count: Self.chunkSize), !bytes.isEmpty {
                try writer.write(bytes)
                offset += Int64(bytes.count)
            }
            _ = try writer.commit(to: to)
        }
    }

    public func move(_ source: BlobKey, to destination: BlobKey) async throws {
        let (from, to) = (path(of: source), path(of: destination))
        try await run { [folder] in
            // Opening it distinguishes a blob from a folder of blobs.
            _ = try BlobReader(from)
            guard utimensat(AT_FDCWD, from, nil, 0) == 0 else { throw FileError.last("utimensat", from) }
            try BlobWriter.rename(from, to: to)
            try FileSystem.syncFolder(FileSystem.parent(of: from))
            Self.removeEmptyFolders(above: from, upTo: folder)
        }
    }

    public func list(prefix: String, after: BlobKey?, limit: Int) async throws -> [BlobInfo] {
        guard BlobKey.isKey(prefix[...].utf8, orPrefix: true) else {
            throw ServiceError.validation(field: "prefix", "must be the beginning of a key")
        }
        return try await run { [folder] in
            var listing = BlobListing(root: folder, prefix: prefix, after: after?.description, limit: min(max(limit, 1), 1000))
            try listing.walk("")
            return listing.found
        }
    }

    private func path(of key: BlobKey) -> String { "\(folder)/\(key)" }

    private func blob(_ info: BlobInfo, _ range: Range<Int64>, _ reader: BlobReader) -> Blob {
        let position = Mutex(range.lowerBound)
        let body = BlobBody { [self] in
            let start = position.withLock { $0 }
            guard start < range.upperBound else { return nil }
            let count = Int(min(Int64(Self.chunkSize), range.upperBound - start))
            let bytes = try await run { try reader.read(at: start, count: count) }
            // Blobs are never changed in place: one that is too short was damaged from outside.
            guard !bytes.isEmpty else { throw BlobError.unavailable }
            position.withLock { $0 = start + Int64(bytes.count) }
            return bytes
        }
        return Blob(info: info, range: range, body: body)
    }

    /// Runs work on the store's threads. Failures of the system become errors for callers; their causes are logged.
    private func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        do {
            return try await pool.run(work)
        } catch let failure as FileError {
            let error = Self.serviceError(failure)
            if error.code == .unavailable { logger.error("blob store failed", metadata: ["cause": "\(failure)"]) }
            throw error
        }
    }

    static func serviceError(_ failure: FileError) -> ServiceError {
        switch failure.code {
        case ENOENT where failure.call == "open": .notFound("file")
        case ENOSPC, EDQUOT: BlobError.full
        case ENOTDIR where failure.call == "open": .notFound("file")
        case EISDIR, ENOTEMPTY, EEXIST, ENOTDIR: BlobError.conflict
        default: BlobError.unavailable
        }
    }

    private static func removeEmptyFolders(above path: String, upTo root: String) {
        var folder = FileSystem.parent(of: path)
        while folder.utf8.count > root.utf8.count, rmdir(folder) == 0 { folder = FileSystem.parent(of: folder) }
    }
}
