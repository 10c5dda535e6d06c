internal import FoundationEssentials
internal import HTTPServer
internal import Kernel
internal import NIOHTTP1

/// `/admin/session`: a cookie with the refresh token of who is signed in to `/admin`, so that a reload does not sign out. `PUT` keeps one, `POST`
/// answers with it, `DELETE` ends it.
///
/// The cookie authenticates nothing: nothing else reads it, and a browser sends it to this path only. Only pages of the gateway's own origin get an
/// answer, so a page of another origin can neither read it nor put another in its place. It ends with the browser.
struct ConsoleSession: Sendable {
    static let path = "/admin/session"
    static let methods = ["POST", "PUT", "DELETE"]
    private static let name = "streaksnap-console"
    /// Of a token; a body has twice as many at most.
    private static let mostBytes = 2_048

    let bodyTimeout: Duration

    private struct Kept: Decodable {
        let refreshToken: String

        enum CodingKeys: String, CodingKey { case refreshToken = "refresh_token" }
    }

    /// - Throws: `NOT_FOUND` for what no page of this origin sends; `VALIDATION_ERROR` for what is no token; what `JSONBody` throws.
    func respond(to request: HTTPRequest, _ exchange: Exchange) async throws -> HTTPResponse {
        guard let origin = Self.ownOrigin(of: request) else { throw ServiceError.noRoute }
        // Browsers behind a proxy that ends TLS name the scheme that they use.
        let rest = "; Path=\(Self.path); HttpOnly; SameSite=Strict\(origin.hasPrefix("https://") ? "; Secure" : "")"
        var token: String?
        var cookie: String?
        switch request.method {
        case .PUT:
            let sent = try Self.token(try await JSONBody.collectRaw(request, atMost: 2 * Self.mostBytes, within: bodyTimeout))
            cookie = "\(Self.name)=\(sent)\(rest)"
        case .DELETE: cookie = "\(Self.name)=; Max-Age=0\(rest)"
        default: token = Self.token(in: request.headers["Cookie"])
        }
        let data = "{\"refresh_token\":\(token.map { "\"\($0)\"" } ?? "null")}"
        let json = "{\"success\":true,\"data\":\(data),\"meta\":{\"request_id\":\"\(exchange.requestID)\"}}"
        var response = exchange.response(status: 200, contentType: Exchange.json, bytes: Array(json.utf8))
        response.headers.add(name: "Cache-Control", value: "no-store")
        if let cookie { response.headers.add(name: "Set-Cookie", value: cookie) }
        return response
    }

    /// The origin of the page that asks, when it is the gateway's own. Browsers say it with these methods, and pages cannot change it.
    private static func ownOrigin(of request: HTTPRequest) -> String? {
        guard let origin = request.headers[field: "Origin"], let host = request.headers[field: "Host"],
            ["http://\(host)", "https://\(host)"].contains(origin)
        else { return nil }
        return origin
    }

    private static func token(_ body: [UInt8]) throws(ServiceError) -> String {
        guard let kept = try? JSONDecoder().decode(Kept.self, from: Data(body)), isToken(kept.refreshToken) else {
            throw .validation(field: "refresh_token", "must be a refresh token")
        }
        return kept.refreshToken
    }

    /// That of the cookie; nil without one.
    private static func token(in cookies: [String]) -> String? {
        for cookie in cookies.joined(separator: ";").split(separator: ";") {
            let parts = cookie.split(separator: "=", maxSplits: 1).map { $0.trimmingPrefix { $0 == " " } }
            if parts.count == 2, parts[0] == name, isToken(String(parts[1])) { return String(parts[1]) }
        }
        return nil
    }

    /// Whether it is made of what tokens are made of: none of it ends a cookie, or a text of JSON.
    private static func isToken(_ text: String) -> Bool {
        (1...mostBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || "-._~".utf8.contains(byte)
            }
    }
}
