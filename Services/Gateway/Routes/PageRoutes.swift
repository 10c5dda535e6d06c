internal import HTTPServer
internal import Kernel
internal import NIOCore

/// Pages for browsers: `/docs` shows the API (PF-6), `/admin` is the console of administrators, `/demo` plays the product. What they are made
/// of lies in `Pages/`.
///
/// They use the API as every client does, with the rights of who is signed in. Nothing of them comes from another server.
struct PageRoutes: Sendable {
    /// A file that a page is, or is made of.
    private struct File {
        /// Shared by all replies.
        let bytes: ByteBuffer
        let contentType: String
        /// Names the bytes.
        let tag: String
        /// Whether only the demo needs it.
        let isDemo: Bool

        init(_ bytes: [UInt8], _ contentType: String, isDemo: Bool = false) {
            (self.bytes, self.contentType, self.isDemo) = (ByteBuffer(bytes: bytes), contentType, isDemo)
            self.tag = "\"\(String(StableHash.fnv1a(bytes), radix: 16))\""
        }
    }

    /// Files that only the demo needs: it moves the time of the installation.
    private static let ofDemo: Set<String> = [
        "demo.html", "demo.js", "demo.css", "story.js", "phone.js", "screens.js", "sheets.js", "photo.js",
    ]

    /// The files by the paths at which they are: a page at its name, `/docs`, and the others below `/pages/`.
    private static let files: [String: File] = Dictionary(
        uniqueKeysWithValues: PageFiles.all.map { name, bytes in
            let parts = name.split(separator: ".")
            let path = parts.last == "html" ? "/\(parts[0])" : "/pages/\(name)"
            return (path, File(bytes, contentType(of: parts.last ?? ""), isDemo: ofDemo.contains(name)))
        }
    )

    private static func contentType(of ending: Substring) -> String {
        switch ending {
        case "html": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        default: Exchange.json
        }
    }

    /// What the pages may do: nothing from elsewhere, no code or style in the markup, no frame around them.
    static let contentPolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    /// Whether time can be moved here (PF-7). Only then there is the demo: it moves it.
    let isDevelopment: Bool

    /// Whether a path is one of a page, or of what it is made of.
    func has(_ path: String) -> Bool { file(path) != nil }

    /// The page; nil for other paths.
    func respond(to request: HTTPRequest, _ exchange: Exchange) -> HTTPResponse? {
        guard let file = file(request.path) else { return nil }
        let known = request.headers[field: "If-None-Match"]
        let isKnown = known == "*" || known?.contains(file.tag) == true
        var response =
            isKnown
            ? HTTPResponse(.notModified, ["X-Request-Id": exchange.requestID])
            : exchange.response(status: 200, contentType: file.contentType, body: file.bytes)
        response.headers.add(contentsOf: [
            // Asked for anew each time, so that the files of two versions never meet.
            ("ETag", file.tag), ("Cache-Control", "no-cache"), ("Content-Security-Policy", Self.contentPolicy),
            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Permissions-Policy", "camera=(self), microphone=(), geolocation=()"),
        ])
        return response
    }

    private func file(_ path: String) -> File? {
        guard let file = Self.files[path], isDevelopment || !file.isDemo else { return nil }
        return file
    }
}
