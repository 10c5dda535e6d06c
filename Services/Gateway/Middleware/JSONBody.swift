internal import Gzip
internal import HTTPServer
internal import Kernel
internal import NIOCore
internal import NIOHTTP1
internal import Transcoding

/// The body of an ordinary request.
enum JSONBody {
    private enum Coding {
        case identity
        case gzip
    }

    /// Reads it whole, bounded in size and time; gzip is decompressed within the same bounds.
    ///
    /// - Throws: `BODY_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE`, `UNSUPPORTED_CONTENT_ENCODING`, `MALFORMED_BODY`, `MALFORMED_REQUEST`,
    ///   `REQUEST_TIMEOUT`.
    static func collect(_ request: HTTPRequest, within limit: Duration) async throws -> [UInt8] {
        let announced = request.headers.first(name: "Content-Length").flatMap { Int($0) }
        if !request.headers.contains(name: "Transfer-Encoding"), announced ?? 0 == 0 { return [] }
        if let announced, announced > RequestTranscoder.maximumBodyBytes { throw tooLarge }
        let coding = try coding(of: request)
        try checkType(of: request)
        do {
            switch coding {
            case .identity:
                let most = RequestTranscoder.maximumBodyBytes
                return try await plain(request, announced: announced, atMost: most, within: limit)
            case .gzip: return try await decompressed(request, within: limit)
            }
        } catch let error as HTTPParserError { throw RequestHeadRules.refusal(error) }
    }

    /// Reads a body of any media type whole, as it is, bounded in size and time (`raw`).
    ///
    /// - Parameter most: bytes.
    /// - Throws: `BODY_TOO_LARGE`, `UNSUPPORTED_CONTENT_ENCODING`, `MALFORMED_REQUEST`, `REQUEST_TIMEOUT`.
    static func collectRaw(_ request: HTTPRequest, atMost most: Int, within limit: Duration) async throws -> [UInt8] {
        let announced = request.headers.first(name: "Content-Length").flatMap { Int($0) }
        if let announced, announced > most { throw tooLarge(most) }
        try refuseCodings(request, "This body")
        do { return try await plain(request, announced: announced, atMost: most, within: limit) } catch let error
            as HTTPParserError
        {
            throw RequestHeadRules.refusal(error)
        }
    }

    /// Refuses a body that is compressed.
    ///
    /// - Parameter what: the body, as the error names it.
    /// - Throws: `UNSUPPORTED_CONTENT_ENCODING`.
    static func refuseCodings(_ request: HTTPRequest, _ what: String) throws(ServiceError) {
        guard try coding(of: request) == .identity else { throw unsupportedCoding("\(what) must come without a content coding.") }
    }

    private static func plain(
        _ request: HTTPRequest,
        announced: Int?,
        atMost most: Int,
        within limit: Duration
    ) async throws -> [UInt8] {
        let deadline = ContinuousClock.now.advanced(by: limit)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(announced ?? 1_024)
        for try await chunk in request.body {
            guard bytes.count + chunk.readableBytes <= most else { throw tooLarge(most) }
            bytes.append(contentsOf: chunk.readableBytesView)
            guard ContinuousClock.now < deadline else { throw tooSlow }
        }
        return bytes
    }

    private static func decompressed(_ request: HTTPRequest, within limit: Duration) async throws -> [UInt8] {
        let deadline = ContinuousClock.now.advanced(by: limit)
        var received = 0
        do {
            var gunzip = try Gunzip(limit: RequestTranscoder.maximumBodyBytes)
            for try await chunk in request.body {
                received += chunk.readableBytes
                guard received <= RequestTranscoder.maximumBodyBytes else { throw tooLarge }
                try chunk.withUnsafeReadableBytes { bytes throws(GunzipError) in try gunzip.consume(bytes) }
                guard ContinuousClock.now < deadline else { throw tooSlow }
            }
            try gunzip.finish()
            return gunzip.content
        } catch let error as GunzipError {
            if error == .tooLarge { throw tooLarge }
            let problem = error == .truncated ? "it ends too early" : "it is damaged, or no gzip"
            throw ServiceError(.invalidArgument, "MALFORMED_BODY", "The compressed body cannot be read: \(problem).")
        }
    }

    private static func coding(of request: HTTPRequest) throws(ServiceError) -> Coding {
        switch request.headers[field: "Content-Encoding"]?.lowercased() {
        case nil, "", "identity": .identity
        case "gzip", "x-gzip": .gzip
        default: throw unsupportedCoding("The only content coding that is understood is gzip.")
        }
    }

    /// A form or a file that went to the wrong route should say so, instead of being read as JSON with errors.
    private static func checkType(of request: HTTPRequest) throws(ServiceError) {
        guard let type = request.headers[field: "Content-Type"] else { return }
        let name = HeaderParameters(type).value.lowercased()
        guard name == "application/json" || (name.hasPrefix("application/") && name.hasSuffix("+json")) else {
            throw ServiceError(.invalidArgument, "UNSUPPORTED_MEDIA_TYPE", "Send application/json.")
        }
    }

    private static func unsupportedCoding(_ message: String) -> ServiceError {
        ServiceError(.invalidArgument, "UNSUPPORTED_CONTENT_ENCODING", message)
    }

    private static let tooSlow = ServiceError(.deadlineExceeded, "REQUEST_TIMEOUT", "The body took too long to arrive.")

    private static let tooLarge = tooLarge(RequestTranscoder.maximumBodyBytes)

    private static func tooLarge(_ most: Int) -> ServiceError {
        ServiceError(.invalidArgument, "BODY_TOO_LARGE", "The body may have at most \(most) bytes.")
    }
}
