internal import Cryptography
internal import HTTPServer
internal import Kernel

/// `GET /map`: posts and clusters on a plain canvas, for people who develop (PL-4). It exists only where the development clock is on (PF-7). The
/// page reads as a guest does, and asks no other server for anything.
struct MapRoute: Sendable {
    private let html: [UInt8]
    private let policy: String

    init() {
        html = Array(MapPage.html.utf8)
        func hash(_ text: String) -> String { "'sha256-\(Base64URL.encode(SHA256.hash(data: text.utf8)))='" }
        policy =
            "default-src 'none'; script-src \(hash(MapPage.script)); style-src \(hash(MapPage.style)); connect-src 'self'; "
            + "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }

    func page(_ exchange: Exchange) -> HTTPResponse {
        var response = exchange.response(status: 200, contentType: "text/html; charset=utf-8", bytes: html)
        response.headers.add(contentsOf: [
            ("Cache-Control", "no-store"), ("Content-Security-Policy", policy), ("Referrer-Policy", "no-referrer"),
        ])
        return response
    }
}
