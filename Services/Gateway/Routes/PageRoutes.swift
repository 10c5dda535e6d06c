internal import HTTPServer

/// Pages for browsers: `/docs` shows the API (PF-6), `/admin` is the console of administrators, `/demo` plays the product. What they are made
/// of lies in `Pages/`.
///
/// They use the API as every client does, with the rights of who is signed in. Nothing of them comes from another server.
struct PageRoutes: Sendable {
    /// A file that a page is, or is made of.
    private struct File {
        let document: StaticDocument
        /// Whether only the demo needs it.
        let isDemo: Bool
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
            let document = StaticDocument(bytes, contentType(of: parts.last ?? ""))
            return (path, File(document: document, isDemo: ofDemo.contains(name)))
        }
    )

    /// The paths of all pages.
    static var paths: [String] { files.keys.filter { !$0.hasPrefix("/pages/") }.sorted() }

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

    /// Where a browser is led that asks for `/`, or for a page with a slash behind its name; nil for other paths.
    func place(for path: String) -> String? {
        guard path.hasSuffix("/") else { return nil }
        let page = path == "/" ? "/docs" : String(path.dropLast())
        return Self.paths.contains(page) && has(page) ? page : nil
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
        guard let file = Self.files[path], isDevelopment || !file.isDemo else { return nil }
        return file
    }
}
