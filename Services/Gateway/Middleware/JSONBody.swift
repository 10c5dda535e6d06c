internal import HTTPTypes
internal import Hummingbird
internal import Kernel
internal import Transcoding

/// The body of an ordinary request.
enum JSONBody {
    /// Reads it whole, bounded in size and time.
    ///
    /// - Throws: `BODY_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE`, `REQUEST_TIMEOUT`.
    static func collect(_ request: Request, within limit: Duration) async throws -> [UInt8] {
        let announced = request.headers[.contentLength].flatMap { Int($0) }
        if request.headers[.contentLength] == nil && request.headers[.transferEncoding] == nil { return [] }
        if let announced, announced > RequestTranscoder.maximumBodyBytes { throw tooLarge }
        let deadline = ContinuousClock.now.advanced(by: limit)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(announced ?? 1_024)
        for try await chunk in request.body {
            guard bytes.count + chunk.readableBytes <= RequestTranscoder.maximumBodyBytes else { throw tooLarge }
            bytes.append(contentsOf: chunk.readableBytesView)
            guard ContinuousClock.now < deadline else {
                throw ServiceError(.deadlineExceeded, "REQUEST_TIMEOUT", "The body took too long to arrive.")
            }
        }
        // JSON is read whatever it is called (curl calls everything a form), but an upload to the wrong route should say so.
        if !bytes.isEmpty, let type = request.headers[.contentType], type.lowercased().hasPrefix("multipart/") {
            throw ServiceError(.invalidArgument, "UNSUPPORTED_MEDIA_TYPE", "Send application/json.")
        }
        return bytes
    }

    private static let tooLarge = ServiceError(
        .invalidArgument,
        "BODY_TOO_LARGE",
        "The body may have at most \(RequestTranscoder.maximumBodyBytes) bytes."
    )
}
