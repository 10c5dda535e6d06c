internal import BlobStore
internal import HTTPServer
internal import Kernel
internal import NIOCore
internal import NIOHTTP1
internal import Transcoding

/// `GET /media/{key}?exp=&for=&sig=`: stored photos by a signed link (PH-2), with ranges (RFC 9110 §14) and validators.
/// Avatars need no signature: every client with the key may see them, and the key cannot be guessed.
struct MediaRoute: Sendable {
    private static let open = "avatars/"

    let blobs: any BlobStore
    let signer: SignedURL
    let clock: any Clock

    func respond(to request: HTTPRequest, _ exchange: Exchange) async throws -> HTTPResponse {
        guard request.method == .GET || request.method == .HEAD else { return exchange.methodNotAllowed(["GET", "HEAD"]) }
        let path = String(request.path.dropFirst("/media/".count))
        let isOpen = path.hasPrefix(Self.open)
        let (key, viewer, expires) = try isOpen ? (Self.openKey(path), nil, nil) : signedKey(path, request)
        return try await serve(key, from: viewer, expires: expires, isOpen: isOpen, to: request, exchange)
    }

    /// A blob that the caller may see.
    ///
    /// - Parameters:
    ///   - viewer: the user that the link was made for; nil when it is for no particular one.
    ///   - expires: when the link does; nil for a blob without one.
    ///   - isOpen: whether shared caches may store it.
    /// - Throws: `NOT_FOUND` when there is none, or it is withheld.
    func serve(
        _ key: BlobKey,
        from viewer: UserID? = nil,
        expires: Instant? = nil,
        isOpen: Bool = false,
        to request: HTTPRequest,
        _ exchange: Exchange
    ) async throws -> HTTPResponse {
        guard try await !blobs.isWithheld(key, from: viewer, expires: expires), let info = try await blobs.info(of: key) else {
            throw ServiceError.notFound("file")
        }
        // Blobs never change in place, so the key and size name the bytes.
        let name = String(StableHash.fnv1a(key.description.utf8), radix: 16)
        let tag = "\"\(name)-\(info.size)\""
        var headers: HTTPHeaders = [
            "Content-Type": Self.contentType(of: key), "ETag": tag, "Accept-Ranges": "bytes",
            // PH-6: a withheld photo is not shown from a cache for longer than this.
            "Cache-Control": isOpen ? "public, max-age=60" : "private, max-age=60", "X-Request-Id": exchange.requestID,
        ]
        // An export is a file to keep, not a page to show.
        if key.description.hasSuffix(".json") {
            headers.add(name: "Content-Disposition", value: "attachment; filename=\"streaksnap-export.json\"")
        }
        if let known = request.headers[field: "If-None-Match"], known.contains(tag) || known == "*" {
            return HTTPResponse(.notModified, headers)
        }
        // Ranges are defined for GET only (RFC 9110 §14.2).
        let asked = request.method == .GET ? request.headers[field: "Range"] : nil
        let range = ByteRange.parse(asked, ifRange: request.headers[field: "If-Range"], tag: tag, size: info.size)
        let part: Range<Int64>?
        switch range {
        case .unsatisfiable:
            headers.add(name: "Content-Range", value: "bytes */\(info.size)")
            return HTTPResponse(.rangeNotSatisfiable, headers)
        case .whole: part = nil
        case .part(let wanted):
            headers.add(name: "Content-Range", value: "bytes \(wanted.lowerBound)-\(wanted.upperBound - 1)/\(info.size)")
            part = wanted
        }
        let status: HTTPResponseStatus = part == nil ? .ok : .partialContent
        let length = part.map { Int64($0.count) } ?? info.size
        if request.method == .HEAD {
            headers.add(name: "Content-Length", value: String(length))
            return HTTPResponse(status, headers)
        }
        let blob = try await blobs.get(key, range: part)
        let body = HTTPResponse.Body.writer(length: Int(length)) { writer in
            for try await chunk in blob.body { try await writer.write(ByteBuffer(bytes: chunk)) }
        }
        return HTTPResponse(status, headers, body)
    }

    private static func contentType(of key: BlobKey) -> String {
        if key.description.hasSuffix(".png") { return "image/png" }
        if key.description.hasSuffix(".mp4") { return "video/mp4" }
        if key.description.hasSuffix(".webm") { return "video/webm" }
        if key.description.hasSuffix(".csv") { return "text/csv; charset=utf-8" }
        return key.description.hasSuffix(".json") ? "application/json; charset=utf-8" : "image/jpeg"
    }

    private static func openKey(_ path: String) throws(ServiceError) -> BlobKey {
        guard let key = try? BlobKey(path) else { throw .notFound("file") }
        return key
    }

    private func signedKey(_ path: String, _ request: HTTPRequest) throws(ServiceError) -> (BlobKey, UserID?, Instant?) {
        let link = try signer.verify(
            key: path,
            expires: request.parameter("exp") ?? "",
            viewer: request.parameter("for"),
            signature: request.parameter("sig") ?? "",
            now: clock.now()
        )
        return (link.key, link.viewer, link.expires)
    }
}

/// The `Range` header, one range of bytes; several are answered with the whole (RFC 9110 §14.2 allows it).
enum ByteRange: Equatable {
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    /// Reads `Range` together with `If-Range` (RFC 9110 §13.1.5): a part is wanted only of the bytes that the client has the rest of. Its
    /// validator must be the file's own tag; a date never is, since files bear none.
    static func parse(_ header: String?, ifRange: String?, tag: String, size: Int64) -> ByteRange {
        guard ifRange == nil || ifRange == tag else { return .whole }
        return parse(header, size: size)
    }

    static func parse(_ header: String?, size: Int64) -> ByteRange {
        guard let header, header.hasPrefix("bytes=") else { return .whole }
        let bounds = header.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard bounds.count == 2, !header.contains(","), !header.contains("+") else { return .whole }
        switch (Int64(bounds[0]), Int64(bounds[1]), bounds[0].isEmpty, bounds[1].isEmpty) {
        case (let first?, let last?, _, _) where first >= 0 && first <= last:
            return first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
        case (let first?, nil, _, true) where first >= 0:
            return first < size ? .part(first..<size) : .unsatisfiable
        case (nil, let suffix?, true, _) where suffix > 0:
            return size > 0 ? .part(max(0, size - suffix)..<size) : .unsatisfiable
        case (nil, let suffix?, true, _) where suffix == 0:
            return .unsatisfiable
        default: return .whole
        }
    }
}
