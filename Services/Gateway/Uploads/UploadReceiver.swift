internal import BlobStore
internal import Bus
internal import HTTPServer
internal import Kernel
internal import Logging
internal import Transcoding

/// Takes multipart uploads: the file goes straight into the blob store under `incoming/`, the rest into the request (D4, PH-1).
struct UploadReceiver: Sendable {
    private static let fieldLimit = 64 << 10

    let blobs: any BlobStore
    let ids: any IDSource
    let logger: Logger
    let bodyTimeout: Duration

    /// What the form of an upload says.
    ///
    /// - Returns: the request, and the stored file, which goes with a request that is refused.
    /// - Throws: `UNSUPPORTED_MEDIA_TYPE`, `UNSUPPORTED_CONTENT_ENCODING`, `MALFORMED_REQUEST`, `FILE_TOO_LARGE`, `MALFORMED_UPLOAD`, and what reading the other parts throws; nothing stays
    ///   in the blob store then.
    func receive(
        _ request: HTTPRequest,
        for route: Route,
        _ path: PathValues
    ) async throws -> (body: RequestReading, blob: BlobReference?) {
        let parser = try Self.parser(request.headers[field: "Content-Type"] ?? "", for: route)
        try JSONBody.refuseCodings(request, "A form")
        let announced = request.headers.first(name: "Content-Length").flatMap { Int64($0) } ?? 0
        // The other parts are small: a body far beyond the file's limit is refused before any of it is read.
        if let largest = route.policy.uploads.max(by: { $0.maxBytes < $1.maxBytes }),
            announced > Int64(largest.maxBytes) + 1 << 20
        {
            throw Self.tooLarge(largest)
        }
        let reader = MultipartReader(request.body, parser, within: BodyDeadline.limit(bodyTimeout, bytes: announced))
        var form: [(name: String, value: [UInt8])] = []
        var blob: BlobReference?
        var number = 0
        do {
            while let event = try await reader.next() {
                guard case .begin(let name, let fileName, let contentType) = event else { throw ServiceError.internal }
                if let found = route.policy.uploads.firstIndex(where: { $0.part == name }) {
                    guard blob == nil else {
                        throw ServiceError.validation(field: name, "must come once, and no other file with it")
                    }
                    number = found
                    blob = try await store(reader.part, fileName, contentType, route.policy.uploads[found])
                    try Self.refuseStandIn(reader.start, for: name)
                } else {
                    // A file under another name would be said to be too long for a field.
                    guard fileName?.isEmpty ?? true else {
                        throw ServiceError.validation(field: name, "is not where a file goes: send it as \(Self.parts(route))")
                    }
                    form.append((name, try await reader.collect(name, limit: Self.fieldLimit)))
                    guard form.reduce(0, { $0 + $1.value.count }) <= 4 * Self.fieldLimit else {
                        throw ServiceError.validation(field: name, "the form's fields are too large together")
                    }
                }
            }
            return (try route.request.read(form: form, blob: blob, upload: number, path: path), blob)
        } catch {
            if let blob { await discard(blob) }
            throw error
        }
    }

    /// Refuses the texts that forms of JavaScript send in place of a file: of an object that was no file, of its address, or of none.
    ///
    /// - Throws: `VALIDATION_ERROR` that says what to send.
    private static func refuseStandIn(_ start: [UInt8], for part: String) throws(ServiceError) {
        let text = String(decoding: start, as: UTF8.self)
        let isStandIn =
            ["undefined", "null"].contains(text)
            || ["[object ", "file://", "content://", "ph://", "blob:", "data:"].contains { text.hasPrefix($0) }
        guard isStandIn else { return }
        throw .validation(
            field: part,
            "is the text “\(text.prefix(40))”, not a file: append a File or Blob to the form, in React Native {uri, name, type}"
        )
    }

    /// Whether a request says that it is a form.
    static func isForm(_ request: HTTPRequest) -> Bool {
        request.headers[field: "Content-Type"]?.lowercased().hasPrefix("multipart/") ?? false
    }

    private static func parts(_ route: Route) -> String {
        route.policy.uploads.map { "“\($0.part)”" }.joined(separator: " or ")
    }

    private func store(
        _ part: PartBody,
        _ fileName: String?,
        _ contentType: String?,
        _ upload: MethodPolicy.Upload
    ) async throws -> BlobReference {
        let id: OperationID = ids.make()
        let key = try BlobKey("incoming/\(id)")
        let stored: StoredBlob
        do {
            stored = try await blobs.put(key, from: part, limit: Int64(upload.maxBytes))
        } catch let error as ServiceError where error.reason == "FILE_TOO_LARGE" {
            throw Self.tooLarge(upload)
        }
        return BlobReference(
            key: key.description,
            size: UInt64(stored.info.size),
            sha256: Self.hex(stored.sha256),
            fileName: Self.hint(fileName),
            contentType: Self.hint(contentType)
        )
    }

    /// What a client says of a file: no request fails for it.
    private static func hint(_ text: String?) -> String {
        let scalars = (text ?? "").unicodeScalars.filter { $0 != "\0" }
        return String(String(String.UnicodeScalarView(scalars)).prefix(200))
    }

    /// Deletes an upload whose request has failed.
    func discard(_ blob: BlobReference) async {
        do { try await blobs.delete(try BlobKey(blob.key)) } catch {
            logger.warning("an upload was not deleted", metadata: ["key": "\(blob.key)", "error": "\(error)"])
        }
    }

    private static func parser(_ type: String, for route: Route) throws(ServiceError) -> MultipartParser {
        if let boundary = MultipartParser.boundary(ofContentType: type), let parser = MultipartParser(boundary: boundary) {
            return parser
        }
        // Who writes the header by hand, as for JSON, loses the boundary that the library would have chosen.
        let isForm = HeaderParameters(type).value.lowercased() == "multipart/form-data"
        throw ServiceError(
            .invalidArgument,
            "UNSUPPORTED_MEDIA_TYPE",
            isForm
                ? "The Content-Type has no valid boundary: leave the header to your HTTP library."
                : "Send multipart/form-data with a part \(parts(route))."
        )
    }

    private static func tooLarge(_ upload: MethodPolicy.Upload) -> ServiceError {
        ServiceError(
            .invalidArgument,
            "FILE_TOO_LARGE",
            "The file may have at most \(size(upload.maxBytes)).",
            details: [.init(field: upload.part, message: "must have at most \(upload.maxBytes) bytes")]
        )
    }

    /// In MiB where it is a whole number of them: `10 MiB (10485760 bytes)`.
    private static func size(_ bytes: UInt64) -> String {
        bytes.isMultiple(of: 1 << 20) ? "\(bytes >> 20) MiB (\(bytes) bytes)" : "\(bytes) bytes"
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
