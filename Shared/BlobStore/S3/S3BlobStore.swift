internal import Kernel
public import Logging
internal import OutgoingHTTP
private import Synchronization
private import WorkPool

/// Blobs in a bucket of any S3-compatible store (D4).
///
/// It needs the rights to list the bucket and to get, put and delete objects. An upload is spooled, so that its size and hash are
/// signed. A blob is read in pieces of 256 KiB, each requested after the one before was read, so that a slow reader holds only one
/// piece. Unlike in a folder, a key may also be the beginning of another key's path. If a blob is deleted or replaced while it is
/// read, the next piece fails with `STORAGE_UNAVAILABLE`: a reader never gets bytes of both.
public final class S3BlobStore: BlobStore {
    /// Bytes that are read at once.
    static let chunkSize: Int64 = 256 << 10
    /// Uploads up to this many bytes stay in memory; larger ones are spooled in pieces of this size.
    private static let memorySize = 128 << 10
    private static let mostPageBytes = 4 << 20

    /// Why a bucket cannot be used; detected when the store is prepared. The text is for the operator.
    public enum Unusable: Error, Hashable, Sendable {
        /// There is no such bucket.
        case noBucket(String)
        /// The credentials are wrong or lack a right, or the bucket is in another region.
        case denied(String)
    }

    private let client: S3Client
    /// Empty, or the folder of the bucket with its slash.
    private let prefix: String
    /// Where clients send files to; nil: to the gateway.
    private let uploadAddress: S3Address?
    private let spoolFolder: String
    private let pool = WorkPool(name: "spool", threads: 4, queueLimit: 256, refusal: BlobError.unavailable)
    private let logger: Logger

    /// A store; it sends no request before the first call.
    ///
    /// - Parameters:
    ///   - address: The address of the bucket.
    ///   - uploadAddress: Where clients reach the same bucket to send files to it; nil when they cannot.
    ///   - region: The region for signatures.
    ///   - credentials: The access key.
    ///   - prefix: A folder of the bucket, without a slash at its end; nil for all of it.
    ///   - spoolFolder: An existing folder, for files without names of larger uploads.
    ///   - connections: Requests at once.
    ///   - logger: Logs the causes of failures.
    public convenience init(
        _ address: S3Address,
        uploadAddress: S3Address? = nil,
        region: String,
        credentials: SigV4.Credentials,
        prefix: BlobKey? = nil,
        spoolFolder: String,
        connections: Int = 16,
        logger: Logger
    ) {
        self.init(
            address,
            uploadAddress: uploadAddress,
            signer: SigV4(credentials: credentials, region: region),
            prefix: prefix,
            spoolFolder: spoolFolder,
            connections: connections,
            retries: S3Retries(),
            logger: logger
        )
    }

    init(
        _ address: S3Address,
        uploadAddress: S3Address? = nil,
        signer: SigV4,
        prefix: BlobKey?,
        spoolFolder: String,
        connections: Int,
        retries: S3Retries,
        logger: Logger
    ) {
        self.client = S3Client(
            http: OutgoingHTTP(
                threads: connections,
                queueLimit: 256,
                keepsConnections: true,
                allowsPlain: address.scheme == "http"
            ),
            address: address,
            signer: signer,
            retries: retries,
            logger: logger
        )
        self.prefix = prefix.map { "\($0)/" } ?? ""
        self.uploadAddress = uploadAddress
        self.spoolFolder = spoolFolder
        self.logger = logger
    }

    /// Checks that the bucket can be listed and the spool folder written. A store that does not answer is no error: it may be back
    /// when it is needed.
    ///
    /// - Throws: `Unusable`; `STORAGE_UNAVAILABLE` for the folder.
    public func prepare() async throws {
        try await onDisk { [spoolFolder] in try Spool.check(spoolFolder) }
        do {
            _ = try await client.send(.init(method: "GET", query: [("list-type", "2"), ("max-keys", "1"), ("prefix", prefix)]))
        } catch let failure as S3Failure {
            switch failure.kind {
            case .noBucket, .noKey: throw Unusable.noBucket(failure.description)
            case .denied: throw Unusable.denied(failure.description)
            case .full, .unavailable: logger.warning("the blob store does not answer", metadata: ["cause": "\(failure)"])
            }
        }
    }

    /// A link directly to the store, without the gateway and its checks: for programs that the operator trusts.
    ///
    /// - Parameters:
    ///   - method: `GET`, `HEAD`, `PUT` or `DELETE`.
    ///   - seconds: How long it is valid, 1…604,800.
    public func link(_ method: String, to key: BlobKey, seconds: Int64) -> String {
        client.signer.link(to: client.request(method, path(of: key)), seconds: seconds, now: SystemClock.now())
    }

    public func directUpload(of file: ExpectedUpload, to key: BlobKey, seconds: Int64) -> DirectUpload? {
        guard let uploadAddress else { return nil }
        let headers = [
            ("content-length", String(file.size)), ("content-type", file.contentType),
            ("x-amz-checksum-sha256", Base64.encode(file.sha256)),
        ]
        var request = client.request("PUT", path(of: key))
        (request.scheme, request.host) = (uploadAddress.scheme, uploadAddress.host)
        request.path = uploadAddress.root + path(of: key)
        request.headers = headers
        let url = client.signer.link(to: request, seconds: seconds, now: SystemClock.now())
        return DirectUpload(url: url, headers: headers.map { DirectUpload.Header(name: $0.0, value: $0.1) })
    }

    public func put<Chunks: AsyncSequence & Sendable>(_ key: BlobKey, from chunks: Chunks, limit: Int64) async throws
        -> StoredBlob
    where Chunks.Element: Collection<UInt8> {
        let spool = Spool(folder: spoolFolder)
        var buffer: [UInt8] = []
        var size: Int64 = 0
        for try await chunk in chunks {
            size += Int64(chunk.count)
            guard size <= limit else { throw BlobError.tooLarge(limit) }
            buffer.append(contentsOf: chunk)
            if buffer.count > Self.memorySize {
                let bytes = buffer
                buffer = []
                try await onDisk { try spool.write(bytes) }
            }
        }
        // A sequence may end early without an error because its task was cancelled.
        try Task.checkCancellation()
        let rest = buffer
        if size == Int64(rest.count) { spool.keep(rest) } else { try await onDisk { try spool.write(rest) } }
        let hash = spool.finish()
        let reply = try await send(
            .init(
                method: "PUT",
                path: path(of: key),
                headers: [("Content-Type", Self.contentType(of: key))],
                body: spool,
                bodyHash: SigV4.hex(hash)
            )
        )
        let modified = HTTPDate.instant(reply.header("date")) ?? SystemClock.now()
        return StoredBlob(info: BlobInfo(key: key, size: size, modified: modified), sha256: hash)
    }

    public func get(_ key: BlobKey, range: Range<Int64>?) async throws -> Blob {
        let start = range?.lowerBound ?? 0
        guard start >= 0 else { throw BlobError.range }
        let end = max(start + 1, min(range?.upperBound ?? .max, start.addingReportingOverflow(Self.chunkSize).partialValue))
        guard let piece = try await piece(of: key, start..<end, tag: nil) else {
            // An empty blob has no range.
            guard let info = try await info(of: key) else { throw ServiceError.notFound("file") }
            guard info.size == 0, start == 0 else { throw info.size > start ? BlobError.unavailable : BlobError.range }
            return Blob(info: info, range: 0..<0, body: BlobBody { nil })
        }
        let whole = (range ?? 0..<piece.info.size).clamped(to: 0..<piece.info.size)
        let state = Mutex((next: start, first: Optional(piece.bytes)))
        let body = BlobBody { [self] in
            let (place, first) = state.withLock { state in
                defer { state.first = nil }
                return (state.next, state.first)
            }
            guard place < whole.upperBound else { return nil }
            var bytes = first
            if bytes == nil {
                let end = min(whole.upperBound, place + Self.chunkSize)
                bytes = try await self.piece(of: key, place..<end, tag: piece.tag)?.bytes
            }
            guard let bytes, !bytes.isEmpty else { throw BlobError.unavailable }
            state.withLock { $0.next = place + Int64(bytes.count) }
            return bytes
        }
        return Blob(info: piece.info, range: whole, body: body)
    }

    public func read(_ key: BlobKey, limit: Int64) async throws -> [UInt8] {
        guard let piece = try await piece(of: key, 0..<limit + 1, tag: nil) else { return [] }
        guard piece.info.size <= limit else { throw BlobError.tooLarge(limit) }
        return piece.bytes
    }

    public func info(of key: BlobKey) async throws -> BlobInfo? {
        let reply = try await send(.init(method: "HEAD", path: path(of: key), expected: [404]))
        guard reply.status != 404 else { return nil }
        guard let size = reply.header("content-length").flatMap({ Int64($0) }),
            let modified = HTTPDate.instant(reply.header("last-modified"))
        else { throw unexpected("HEAD \(key): neither size nor time") }
        return BlobInfo(key: key, size: size, modified: modified)
    }

    public func delete(_ key: BlobKey) async throws {
        do {
            _ = try await send(.init(method: "DELETE", path: path(of: key)))
        } catch let error as ServiceError where error.code == .notFound {}
    }

    public func copy(_ source: BlobKey, to destination: BlobKey) async throws {
        let place = SigV4.encoded("\(client.address.bucket)/\(path(of: source))", keepingSlashes: true)
        let reply = try await send(
            .init(
                method: "PUT",
                path: path(of: destination),
                headers: [
                    ("Content-Type", Self.contentType(of: destination)), ("x-amz-copy-source", "/\(place)"),
                    // Also used to renew a blob's time by copying it to itself.
                    ("x-amz-metadata-directive", "REPLACE"),
                ]
            )
        )
        // S3 may fail after it has answered 200.
        let complaint = S3Complaint(reply.body)
        guard complaint.code.isEmpty else { throw unexpected("copying \(source): \(complaint.code): \(complaint.message)") }
    }

    public func move(_ source: BlobKey, to destination: BlobKey) async throws {
        try await copy(source, to: destination)
        if source != destination { try await delete(source) }
    }

    public func list(prefix: String, after: BlobKey?, limit: Int) async throws -> [BlobInfo] {
        guard BlobKey.isKey(prefix[...].utf8, orPrefix: true) else {
            throw ServiceError.validation(field: "prefix", "must be the beginning of a key")
        }
        let limit = min(max(limit, 1), 1000)
        var found: [BlobInfo] = []
        var continuation: String?
        repeat {
            var query = [
                ("list-type", "2"), ("encoding-type", "url"), ("max-keys", String(limit - found.count)),
                ("prefix", self.prefix + prefix),
            ]
            if let continuation { query.append(("continuation-token", continuation)) }
            if let after { query.append(("start-after", path(of: after))) }
            let reply = try await send(.init(method: "GET", query: query, mostBytes: Self.mostPageBytes))
            guard let page = try? S3Page(reply.body) else { throw unexpected("listing \(prefix): not a listing") }
            // An invalid key was not stored by us.
            found += page.entries.compactMap { entry in
                (try? BlobKey(entry.key.dropFirst(self.prefix.count))).map {
                    BlobInfo(key: $0, size: entry.size, modified: entry.modified)
                }
            }
            continuation = page.continuation
        } while continuation != nil && found.count < limit
        return found
    }

    private struct Piece {
        let bytes: [UInt8]
        let info: BlobInfo
        let tag: String?
    }

    /// A part of a blob; nil when the range is after its end.
    private func piece(of key: BlobKey, _ range: Range<Int64>, tag: String?) async throws -> Piece? {
        var headers = [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")]
        if let tag { headers.append(("If-Match", tag)) }
        let reply = try await send(
            .init(
                method: "GET",
                path: path(of: key),
                headers: headers,
                mostBytes: max(range.count, 64 << 10),
                expected: [416]
            )
        )
        if reply.status == 416 { return nil }
        // A store may answer with the whole blob when it is within the range.
        let count = Int64(reply.body.count)
        let given =
            reply.status == 206
            ? ContentRange(reply.header("content-range")).map { ($0.range, $0.total) } : (0..<count, count)
        guard let (place, total) = given, place == range.clamped(to: 0..<max(total, range.lowerBound)),
            place.count == reply.body.count,
            let modified = HTTPDate.instant(reply.header("last-modified"))
        else { throw unexpected("GET \(key): not the requested range") }
        if count == 0 { return nil }
        return Piece(
            bytes: reply.body,
            info: BlobInfo(key: key, size: total, modified: modified),
            tag: reply.header("etag")
        )
    }

    private func path(of key: BlobKey) -> String { prefix + key.description }

    private static func contentType(of key: BlobKey) -> String {
        if key.description.hasSuffix(".jpg") { return "image/jpeg" }
        if key.description.hasSuffix(".mp4") { return "video/mp4" }
        if key.description.hasSuffix(".webm") { return "video/webm" }
        return key.description.hasSuffix(".png") ? "image/png" : "application/octet-stream"
    }

    /// Failures become errors for callers; their causes are logged.
    private func send(_ call: S3Client.Call) async throws -> OutgoingHTTP.Reply {
        do {
            return try await client.send(call)
        } catch let failure as S3Failure {
            if failure.kind == .noKey { throw ServiceError.notFound("file") }
            logger.error("blob store failed", metadata: ["cause": "\(failure)"])
            switch failure.kind {
            case .full: throw BlobError.full
            case .denied, .noBucket: throw BlobError.denied
            case .noKey, .unavailable: throw BlobError.unavailable
            }
        }
    }

    private func unexpected(_ cause: String) -> ServiceError {
        logger.error("blob store failed", metadata: ["cause": "\(cause)"])
        return BlobError.unavailable
    }

    private func onDisk(_ work: @escaping @Sendable () throws -> Void) async throws {
        do {
            try await pool.run(work)
        } catch let failure as FileError {
            logger.error("blob store failed", metadata: ["cause": "\(failure)"])
            throw LocalBlobStore.serviceError(failure)
        }
    }
}
