internal import HTTPServer
internal import Transcoding

/// Pages for browsers: `/docs` shows the API (PF-6), `/admin` is the console of administrators, `/demo` plays the product, `/map` shows posts
/// and clusters (PL-4). What they are made of lies in `Pages/`.
///
/// They use the API as every client does, with the rights of who is signed in. Nothing of them comes from another server.
struct PageRoutes: Sendable {
    /// A file that a page is, or is made of.
    private struct File {
        let document: StaticDocument
        /// Whether it is there only where time can be moved.
        let isDevelopment: Bool
    }

    /// What only the demo needs, which moves the time of the installation, and the map, which is for people who develop.
    private static let ofDevelopment: Set<String> = [
        "demo.html", "demo.js", "demo.css", "story.js", "phone.js", "screens.js", "sheets.js", "photo.js",
        "map.html", "map.js", "map.css", "land.js", "land.bin",
    ]

    /// The files by the paths at which they are: a page at its name, `/docs`, and the others below `/pages/`.
    private static let files: [String: File] = Dictionary(
        uniqueKeysWithValues: PageFiles.all.map { name, bytes in
            let parts = name.split(separator: ".")
            let path = parts.last == "html" ? "/\(parts[0])" : "/pages/\(name)"
            let document = StaticDocument(bytes, contentType(of: parts.last ?? ""))
            return (path, File(document: document, isDevelopment: ofDevelopment.contains(name)))
        }
    )

    /// The paths of all pages.
    static var paths: [String] { files.keys.filter { !$0.hasPrefix("/pages/") }.sorted() }

    private static func contentType(of ending: Substring) -> String {
        switch ending {
        case "html": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "bin": "application/octet-stream"
        default: Exchange.json
        }
    }

    /// What the pages may do: nothing from elsewhere, no code or style in the markup, no frame around them.
    static let contentPolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    /// Whether time can be moved here (PF-7). Only then there are the demo and the map.
    let isDevelopment: Bool

    /// Where a browser is led that asks for `/`, or for a page with a slash behind its name; nil for other paths.
    func place(for path: String) -> String? {
        guard path.hasSuffix("/") else { return nil }
        let page = path == "/" ? "/docs" : String(path.dropLast())
        return Self.paths.contains(page) && has(page) ? page : nil
    }

    /// The page that was probably meant by a path that is none, as `GET /docs`; nil when none is near.
    func near(_ path: String) -> String? {
        let (name, names) = (String(path.dropFirst()), Self.paths.filter(has).map { String($0.dropFirst()) })
        return name.contains("/") ? nil : NearName.of(name, among: names).map { "GET /\($0)" }
    }

    /// Whether a path is one of a page, or of what it is made of.
    func has(_ path: String) -> Bool { file(path) != nil }

    /// The page; nil for other paths.
    func respond(to request: HTTPRequest, _ exchange: Exchange) -> HTTPResponse? {
        guard let file = file(request.path) else { return nil }
        var response = file.document.response(to: request, exchange)
        response.headers.add(contentsOf: [
            ("Content-Security-Policy", Self.contentPolicy), ("Referrer-Policy", "no-referrer"),
            ("Permissions-Policy", "camera=(self), microphone=(), geolocation=()"),
        ])
        return response
    }

    private func file(_ path: String) -> File? {
        guard let file = Self.files[path], isDevelopment || !file.isDevelopment else { return nil }
        return file
    }
}
