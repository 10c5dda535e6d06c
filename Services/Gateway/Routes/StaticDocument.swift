internal import Gzip
internal import HTTPServer
internal import Kernel
internal import NIOCore
internal import NIOHTTP1

/// A document that is the same for everyone: its bytes as they are and as gzip, both made once and shared by all replies.
struct StaticDocument: Sendable {
    /// One of the forms in which it is sent. Each has a name of its own (RFC 9110 §8.8.3.3).
    struct Form: Sendable {
        let bytes: ByteBuffer
        let tag: String
    }

    /// The bytes as they are.
    let plain: Form
    /// As gzip; nil where that is no smaller.
    let packed: Form?
    private let contentType: String

    init(_ bytes: [UInt8], _ contentType: String) {
        let name = String(StableHash.fnv1a(bytes), radix: 16)
        self.contentType = contentType
        plain = Form(bytes: ByteBuffer(bytes: bytes), tag: "\"\(name)\"")
        packed = Gzip.compress(bytes).flatMap { packed in
            packed.count < bytes.count ? Form(bytes: ByteBuffer(bytes: packed), tag: "\"\(name)-gzip\"") : nil
        }
    }

    /// 200 in the form that the client asks for, or 304 when it has that one.
    func response(to request: HTTPRequest, _ exchange: Exchange) -> HTTPResponse {
        let form = Self.takesGzip(request.headers[field: "Accept-Encoding"]) ? packed ?? plain : plain
        let known = request.headers[field: "If-None-Match"]
        let isKnown = known == "*" || known?.contains(form.tag) == true
        var response =
            isKnown
            ? HTTPResponse(.notModified, ["X-Request-Id": exchange.requestID])
            : exchange.response(status: 200, contentType: contentType, body: form.bytes)
        response.headers.add(contentsOf: [
            // Asked for anew each time, so that what belongs to two versions never meets.
            ("ETag", form.tag), ("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding"),
        ])
        if !isKnown, form.tag != plain.tag { response.headers.add(name: "Content-Encoding", value: "gzip") }
        return response
    }

    /// Whether a client that sends this `Accept-Encoding` wants gzip: it takes it, and likes the bytes as they are no better
    /// (RFC 9110 §12.5.3). Without the header they are sent as they are, which all clients understand.
    static func takesGzip(_ header: String?) -> Bool {
        var weights: [String: Double] = [:]
        for entry in (header ?? "").split(separator: ",") {
            let parts = entry.lowercased().filter { $0 != " " && $0 != "\t" }.split(separator: ";").map(String.init)
            guard let name = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 }
            weights[name] = weight ?? 1
        }
        let gzip = weights["gzip"] ?? weights["x-gzip"] ?? weights["*"] ?? 0
        return gzip > 0 && gzip >= weights["identity"] ?? 0
    }
}
