internal import BlobStore
internal import HTTPServer
internal import Kernel
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// `PUT /uploads/{key}?exp=&size=&type=&sha256=&sig=`: an announced file by a signed link (PL-1), streamed into the blob store in constant
/// memory. It appears there only when length, type and hash are those that were announced. The same file may be sent again.
struct UploadRoute: Sendable {
    static let prefix = "/\(SignedUpload.folder)/"

    let blobs: any BlobStore
    let signer: SignedUpload
    let clock: any Clock
    let ids: any IDSource
    let logger: Logger
    let bodyTimeout: Duration

    func respond(to request: HTTPRequest, _ exchange: Exchange) async throws -> HTTPResponse {
        let parameters = request.parameters
        let link = try signer.verify(
            key: String(request.path.dropFirst()),
            query: { name in parameters.first { $0.name == name }?.value },
            now: clock.now()
        )
        // A link outlives the account that it was made for by up to an hour: nothing more is stored for a deleted or suspended one (AU-7).
        if try await blobs.isWithheld(link.key) { throw ServiceError.notFound("upload") }
        try JSONBody.refuseCodings(request, "A file")
        try Self.checkHeaders(of: request, link.file)
        let id: OperationID = ids.make()
        // Under another key until its hash is known: a wrong file must not replace a right one.
        let incoming = try BlobKey("incoming/\(id)")
        do {
            try await store(request, link.file, as: incoming)
            try await blobs.move(incoming, to: link.key)
        } catch {
            await discard(incoming)
            throw error
        }
        return HTTPResponse(.noContent, ["X-Request-Id": exchange.requestID])
    }

    private func store(_ request: HTTPRequest, _ file: ExpectedUpload, as key: BlobKey) async throws {
        let body = TimedBody(body: request.body, deadline: .now.advanced(by: BodyDeadline.limit(bodyTimeout, bytes: file.size)))
        let stored: StoredBlob
        do { stored = try await blobs.put(key, from: body, limit: file.size) } catch let error as HTTPParserError {
            throw RequestHeadRules.refusal(error)
        } catch let error as ServiceError where error.reason == "FILE_TOO_LARGE" {
            throw Self.mismatch("content-length", "must be \(file.size)")
        }
        guard stored.info.size == file.size else { throw Self.mismatch("content-length", "must be \(file.size)") }
        guard stored.sha256 == file.sha256 else { throw Self.mismatch("content-digest", "is not that of the bytes") }
    }

    /// Refuses before any of the body is read.
    private static func checkHeaders(of request: HTTPRequest, _ file: ExpectedUpload) throws(ServiceError) {
        if let length = request.headers.first(name: "Content-Length"), Int64(length) != file.size {
            throw mismatch("content-length", "must be \(file.size)")
        }
        guard request.headers[field: "Content-Type"] == file.contentType else {
            throw mismatch("content-type", "must be \(file.contentType)")
        }
        guard request.headers[field: "Content-Digest"] == SignedUpload.digest(of: file) else {
            throw mismatch("content-digest", "must be \(SignedUpload.digest(of: file))")
        }
    }

    private static func mismatch(_ header: String, _ problem: String) -> ServiceError {
        ServiceError(
            .invalidArgument,
            "FILE_MISMATCH",
            "This is not the file that was announced.",
            details: [.init(field: header, message: problem)]
        )
    }

    private func discard(_ key: BlobKey) async {
        do { try await blobs.delete(key) } catch {
            // The job for abandoned uploads deletes it later.
            logger.warning("an upload was not deleted", metadata: ["key": "\(key)", "error": "\(error)"])
        }
    }
}

/// The bytes of a body that must arrive in time.
private struct TimedBody: AsyncSequence, Sendable {
    let body: HTTPBody
    let deadline: ContinuousClock.Instant

    struct AsyncIterator: AsyncIteratorProtocol {
        var body: HTTPBody.AsyncIterator
        let deadline: ContinuousClock.Instant

        mutating func next() async throws -> ByteBufferView? {
            guard let chunk = try await body.next() else { return nil }
            guard ContinuousClock.now < deadline else {
                throw ServiceError(.deadlineExceeded, "REQUEST_TIMEOUT", "The upload took too long to arrive.")
            }
            return chunk.readableBytesView
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: body.makeAsyncIterator(), deadline: deadline) }
}
