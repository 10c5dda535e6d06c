internal import HTTPServer
internal import NIOHTTP1
internal import Runtime

/// Which pages of other origins a browser lets read replies (CORS, the Fetch standard). Tokens travel in `Authorization`, so credentials
/// mode is never allowed: a browser adds nothing of its own to a request.
struct CrossOrigin: Sendable {
    private enum Allowed: Equatable {
        case noOrigin
        case anyOrigin
        case listed(Set<String>)
    }

    private static let requestHeaders = [
        "Authorization", "Content-Type", "Content-Encoding", "Content-Digest", "Idempotency-Key", "Last-Event-ID",
        "If-None-Match", "If-Range",
        "Range",
        "X-Request-Id", "traceparent",
    ].joined(separator: ", ")
    private static let replyHeaders = [
        "X-Request-Id", "Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "ETag", "Accept-Ranges",
        "Content-Range", "Content-Disposition", "Location", "Allow", "WWW-Authenticate", "Date",
    ].joined(separator: ", ")
    /// Seconds; Chrome remembers a preflight for no longer.
    private static let maxAge = "7200"

    private let allowed: Allowed

    /// - Parameter setting: origins separated by commas, `*` for all, empty for none.
    /// - Throws: `Settings.Invalid` for anything else.
    init(_ setting: String) throws {
        let entries = setting.settingEntries
        for entry in entries where entry != "*" && !Self.isOrigin(entry) {
            throw Settings.Invalid(
                "--http-cors-origins must list origins such as https://app.example.com or be *, not “\(entry)”."
            )
        }
        guard entries.count == 1 || !entries.contains("*") else {
            throw Settings.Invalid("--http-cors-origins must be * alone, or a list without it.")
        }
        switch entries.first {
        case nil: allowed = .noOrigin
        case "*": allowed = .anyOrigin
        default: allowed = .listed(Set(entries))
        }
    }

    /// The reply to the question of a browser whether it may send a request from a page; nil when this is none, or the page may not.
    ///
    /// - Parameter methods: what the path takes; nil when there is no such path.
    func preflight(_ request: HTTPRequest, _ exchange: Exchange, methods: () -> [String]?) -> HTTPResponse? {
        guard request.method == .OPTIONS, let origin = request.headers[field: "Origin"], isAllowed(origin),
            request.headers.contains(name: "Access-Control-Request-Method"), let methods = methods()
        else { return nil }
        let headers: HTTPHeaders = [
            "Access-Control-Allow-Methods": methods.joined(separator: ", "), "Access-Control-Allow-Headers": Self.requestHeaders,
            "Access-Control-Max-Age": Self.maxAge, "X-Request-Id": exchange.requestID,
        ]
        return HTTPResponse(.noContent, headers)
    }

    /// Says to the browser that the page may read the reply, when it may.
    ///
    /// - Parameter origin: as the browser sent it; nil for other clients.
    func addHeaders(to headers: inout HTTPHeaders, for origin: String?) {
        switch allowed {
        case .noOrigin: return
        // The same for all origins, so caches need not distinguish them.
        case .anyOrigin: headers.add(name: "Access-Control-Allow-Origin", value: "*")
        case .listed:
            headers.add(name: "Vary", value: "Origin")
            guard let origin, isAllowed(origin) else { return }
            headers.add(name: "Access-Control-Allow-Origin", value: origin)
        }
        headers.add(name: "Access-Control-Expose-Headers", value: Self.replyHeaders)
    }

    private func isAllowed(_ origin: String) -> Bool {
        switch allowed {
        case .noOrigin: false
        case .anyOrigin: true
        case .listed(let origins): origins.contains(origin)
        }
    }

    /// As browsers write them: scheme, host in lower case, port unless it is the scheme's own; nothing after that.
    private static func isOrigin(_ text: String) -> Bool {
        guard let separator = text.firstRange(of: "://") else { return false }
        let (scheme, authority) = (text[..<separator.lowerBound], text[separator.upperBound...])
        guard let first = scheme.utf8.first, (97...122).contains(first),
            scheme.utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || "+-.".utf8.contains($0) })
        else { return false }
        guard !["http": ":80", "https": ":443"].contains(where: { scheme == $0 && authority.hasSuffix($1) }) else { return false }
        return !authority.contains { $0.isUppercase } && RequestHeadRules.isHost(String(authority))
    }
}
