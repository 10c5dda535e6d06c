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
        // What is wrong may be as large as a file.
        var form = Form(room: (10, Int(clamping: route.policy.uploads.map(\.maxBytes).max() ?? 0)))
        do {
            while let event = try await reader.next() {
                guard case .begin(let name, let fileName, let contentType) = event else { throw ServiceError.internal }
                if let found = route.policy.uploads.firstIndex(where: { $0.part == name }) {
                    if form.blob == nil {
                        form.upload = found
                        form.blob = try await store(reader.part, fileName, contentType, route.policy.uploads[found])
                        _ = try form.check.take { try Self.refuseStandIn(reader.start, for: name) }
                    } else {
                        try form.refuse(name, "must come once, and no other file with it")
                        try await form.skip(reader)
                    }
                } else if fileName?.isEmpty ?? true {
                    try await form.take(name, from: reader)
                } else {
                    // A file under another name would be said to be too long for a field.
                    try form.refuse(name, "is not where a file goes: send it as \(Self.parts(route))")
                    try await form.skip(reader)
                }
            }
            var reading = try route.request.read(form: form.fields, blob: form.blob, upload: form.upload, path: path)
            reading.begin(with: FieldCheck.problems { try form.check.finish() })
            return (reading, form.blob)
        } catch {
            if let blob = form.blob { await discard(blob) }
            throw error
        }
    }

    /// What has been read of a form. A part that is wrong is left out, and the next ones are read: what is wrong with them is said, too.
    private struct Form {
        /// Wrong parts that are stepped over at most, and their bytes in all.
        var room: (parts: Int, bytes: Int)
        var fields: [(name: String, value: [UInt8])] = []
        var blob: BlobReference?
        /// Which of the route's uploads the file is.
        var upload = 0
        var check = FieldCheck()

        /// Reads a part that is no file.
        mutating func take(_ name: String, from reader: MultipartReader) async throws {
            guard let value = try await reader.collect(limit: fieldLimit) else {
                try refuse(name, "must have at most \(fieldLimit) bytes")
                return try await skip(reader)
            }
            guard fields.reduce(value.count, { $0 + $1.value.count }) <= 4 * fieldLimit else {
                return try refuse(name, "the form's fields are too large together")
            }
            fields.append((name, value))
        }

        /// Remembers what is wrong with a part.
        ///
        /// - Throws: `VALIDATION_ERROR` when there is no room for another: the request is not read any further.
        mutating func refuse(_ name: String, _ problem: String) throws {
            check.require(false, name, problem)
            room.parts -= 1
            if room.parts < 0 { try check.finish() }
        }

        /// Steps over the rest of a part that is wrong.
        ///
        /// - Throws: as `refuse`.
        mutating func skip(_ reader: MultipartReader) async throws {
            guard let bytes = try await reader.skip(limit: room.bytes) else { return try check.finish() }
            room.bytes -= bytes
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
